#include "cudart_doctor/collect/host_facts.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <string>
#include <utility>

#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

Fact<std::string> read_kernel_module(const ProcDirectory& root) {
  const char* const file = "driver/nvidia/version";
  auto text = root.read_file(file);
  if (!text) return Fact<std::string>::unknown(text.error().message);
  if (auto version = parse_driver_version(*text)) {
    return Fact<std::string>::known(std::move(*version));
  }
  return Fact<std::string>::unknown(root.shown(file) + ": no version in the text");
}

Fact<int> read_ptrace_scope(const ProcDirectory& root) {
  const char* const file = "sys/kernel/yama/ptrace_scope";
  auto text = root.read_file(file);
  if (!text) {
    return Fact<int>::unknown(text.error().kind == ErrorKind::not_found ? "no Yama"
                                                                        : text.error().message);
  }
  if (auto scope = parse_ptrace_scope(*text)) return Fact<int>::known(*scope);
  return Fact<int>::unknown(root.shown(file) + ": no number from 0 to 3");
}

bool has_node(const Fact<std::vector<DeviceNode>>& fact, std::string_view path) {
  const auto* const nodes = fact.get();
  return nodes != nullptr && std::any_of(nodes->begin(), nodes->end(),
                                         [&](const DeviceNode& node) { return node.path == path; });
}

bool is_there(const CaptureContext& context, const std::string& path) {
  const std::string shown = context.process.shown("root") + path;
  if (context.is_skipped(shown)) return false;
  context.progress("look at device nodes", shown);
  return context.files.stat(path).has_value();
}

std::string find_no_ipc_sign(const ProcDirectory& root, const CaptureContext& context,
                             const ProcessFacts& facts, const std::string& kernel) {
  if (is_wsl_kernel(kernel)) return "WSL2: kernel release " + kernel;
  const std::string dxg = "/dev/dxg";
  if (has_node(facts.rights.device_nodes, dxg) || has_node(facts.own_rights.device_nodes, dxg)) {
    return "WSL2: " + dxg + " is there";
  }
  const std::string host1x = "/dev/nvhost-ctrl";
  if (is_there(context, host1x)) return "Tegra: " + host1x + " is there";
  auto compatible = root.read_file("device-tree/compatible");
  if (!compatible) return {};
  const auto tegra = find_tegra(*compatible);
  return tegra ? "Tegra: the device tree names " + *tegra : std::string();
}

}  // namespace

HostFacts read_host(const ProcDirectory& root, const CaptureContext& context,
                    const ProcessFacts& facts) {
  HostFacts host;
  utsname names = {};
  if (::uname(&names) == 0) {
    host.name = names.nodename;
    host.kernel = names.release;
  }
  host.kernel_module = read_kernel_module(root);
  host.ptrace_scope = read_ptrace_scope(root);
  host.no_ipc_sign = find_no_ipc_sign(root, context, facts, host.kernel);
  return host;
}

}  // namespace cudart_doctor
