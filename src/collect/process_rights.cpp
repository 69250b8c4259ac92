#include "cudart_doctor/collect/process_rights.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

using NodesFact = Fact<std::vector<DeviceNode>>;

constexpr std::size_t kMaxNodes = 4096;
constexpr std::string_view kCapsDirectory = "nvidia-caps";

template <typename T>
Fact<T> fact_of(const std::optional<T>& value, std::string_view line, const std::string& file) {
  if (value) return Fact<T>::known(*value);
  return Fact<T>::unknown(file + ": no " + std::string(line) + " in it");
}

/// /dev/nvidia0 and the nodes that the driver opens beside it.
bool is_device_name(std::string_view name) {
  constexpr std::string_view kCard = "nvidia";
  constexpr std::array<std::string_view, 4> kOthers = {"nvidiactl", "nvidia-uvm",
                                                       "nvidia-uvm-tools", "nvidia-modeset"};
  if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) return true;
  return name.starts_with(kCard) && parse_unsigned(name.substr(kCard.size()), 10).has_value();
}

/// Tells the supervisor; fails where the path did not answer before.
Result<void> announce(const CaptureContext& context, const std::string& path) {
  // With the process: the same path in another's view is another file.
  const std::string shown = context.process.shown("root") + path;
  if (context.is_skipped(shown)) {
    return fail(ErrorKind::timeout, path + ": " + std::string(kNoAnswer));
  }
  context.progress("look at device nodes", shown);
  return {};
}

/// Names in a directory that contain `filter`; none where there is no such directory.
Result<std::vector<std::string>> names_in(const CaptureContext& context, const std::string& path,
                                          std::string_view filter) {
  if (auto told = announce(context, path); !told) return tl::unexpected(told.error());
  auto found = context.files.find(path);
  if (!found) {
    if (found.error().kind == ErrorKind::not_found) return std::vector<std::string>{};
    return tl::unexpected(found.error());
  }
  if (!found->info.is_directory()) return std::vector<std::string>{};
  auto names = context.files.list(*found, filter, kMaxNodes);
  if (!names) return fail(names.error().kind, path + ": " + names.error().message);
  return names;
}

/// Adds the node at `path`; nothing where none is there, or no character device.
Result<void> add_node(const CaptureContext& context, const std::string& path,
                      std::vector<DeviceNode>& nodes) {
  if (auto told = announce(context, path); !told) return told;
  auto found = context.files.find(path);
  if (!found) {
    if (found.error().kind == ErrorKind::not_found) return {};
    return tl::unexpected(found.error());
  }
  struct stat info = {};
  if (::fstat(found->fd.get(), &info) != 0) {
    return tl::unexpected(system_error(errno, path, Need::file_access));
  }
  if (!S_ISCHR(info.st_mode)) return {};
  constexpr std::uint32_t kPermissions = 07777;
  nodes.push_back({.path = path,
                   .dev_major = major(info.st_rdev),
                   .dev_minor = minor(info.st_rdev),
                   .mode = info.st_mode & kPermissions,
                   .uid = info.st_uid,
                   .gid = info.st_gid});
  return {};
}

Result<std::vector<std::string>> node_paths(const CaptureContext& context) {
  const std::string directory = "/dev";
  auto names = names_in(context, directory, "nvidia");
  if (!names) return names;
  std::vector<std::string> paths = {directory + "/dxg"};
  for (const std::string& name : *names) {
    if (is_device_name(name)) paths.push_back(directory + "/" + name);
    if (name != kCapsDirectory) continue;
    const std::string below = directory + "/" + name;
    auto caps = names_in(context, below, {});
    if (!caps) return caps;
    for (const std::string& cap : *caps) paths.push_back(below + "/" + cap);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

NodesFact read_own_nodes(const CaptureContext& target) {
  auto own = ProcDirectory::open("/proc/self");
  if (!own) return NodesFact::unknown(own.error().message);
  auto files = TargetFiles::open(*own);
  if (!files) return NodesFact::unknown(files.error().message);
  return read_device_nodes(
      {target.options, target.rules, *own, *files, target.step, target.silent});
}

}  // namespace

Result<StatusFile> read_status(const ProcDirectory& process) {
  auto text = process.read_file("status");
  if (!text) return tl::unexpected(text.error());
  return parse_status(*text);
}

ProcessRights read_rights(const ProcDirectory& process, const Result<StatusFile>& status) {
  ProcessRights rights;
  if (status) {
    const std::string file = process.shown("status");
    rights.groups = status->groups;
    rights.effective = fact_of(status->cap_effective, "CapEff", file);
    rights.permitted = fact_of(status->cap_permitted, "CapPrm", file);
    rights.bounding = fact_of(status->cap_bounding, "CapBnd", file);
    rights.seccomp = fact_of(status->seccomp, "Seccomp", file);
  } else {
    const std::string& reason = status.error().message;
    rights.effective = Fact<std::uint64_t>::unknown(reason);
    rights.permitted = Fact<std::uint64_t>::unknown(reason);
    rights.bounding = Fact<std::uint64_t>::unknown(reason);
    rights.seccomp = Fact<std::uint32_t>::unknown(reason);
  }
  auto cgroup = process.read_file("cgroup");
  rights.cgroup =
      cgroup ? fact_of(parse_cgroup(*cgroup), "unified or devices line", process.shown("cgroup"))
             : Fact<std::string>::unknown(cgroup.error().message);
  return rights;
}

NodesFact read_device_nodes(const CaptureContext& context) {
  auto paths = node_paths(context);
  if (!paths) return NodesFact::unknown(paths.error().message);
  std::vector<DeviceNode> nodes;
  for (const std::string& path : *paths) {
    auto added = add_node(context, path, nodes);
    if (!added) return NodesFact::unknown(added.error().message);
  }
  return NodesFact::known(std::move(nodes));
}

void add_device_nodes(const CaptureContext& context, ProcessFacts& facts) {
  facts.rights.device_nodes = read_device_nodes(context);
  facts.own_rights.device_nodes =
      context.files.is_own_root() ? facts.rights.device_nodes : read_own_nodes(context);
}

}  // namespace cudart_doctor
