#include "differences.hpp"

#include <linux/capability.h>

#include <array>
#include <cctype>
#include <string_view>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// The unified hierarchy's path, else all lines: version 1 has one for each controller.
std::string cgroup_of(std::string_view text) {
  constexpr std::string_view kUnified = "0::";
  std::string all;
  bool controllers = false;
  for (const std::string_view line : split(trim(text), '\n')) {
    if (line.starts_with(kUnified)) {
      all.insert(0, std::string(line.substr(kUnified.size())));
    } else if (line.find(":devices:") != std::string_view::npos) {
      // Of the others none decides which cards a process may open.
      controllers = true;
      all += " " + std::string(line.substr(line.find(":devices:") + 1));
    }
  }
  return controllers ? std::string(trim(all)) : all;
}

bool in_user_slice(std::string_view cgroup) { return cgroup.starts_with("/user.slice"); }

class Comparison {
 public:
  Comparison(const ProcDirectory& proc, const ProcDirectory& process)
      : proc_(proc), process_(process) {}

  void name_space(const std::string& kind, std::string_view consequence) {
    const auto own = proc_.read_link("self/ns/" + kind);
    const auto other = process_.read_link("ns/" + kind);
    if (!own || !other) return unknown(kind + " namespace");
    if (*own != *other) found.push_back(kind + " namespace: " + std::string(consequence));
  }

  void cgroup() {
    const auto own = proc_.read_file("self/cgroup");
    const auto other = process_.read_file("cgroup");
    if (!own || !other) return unknown("cgroup");
    const std::string ours = cgroup_of(*own);
    const std::string theirs = cgroup_of(*other);
    if (ours == theirs || (in_user_slice(ours) && in_user_slice(theirs))) return;
    found.push_back("cgroup: the children run in " + escape_foreign(ours) + ", the process in " +
                    escape_foreign(theirs));
  }

  void status(const ChildRights& rights) {
    const auto own = proc_.read_file("self/status");
    const auto other = process_.read_file("status");
    if (!own || !other) return unknown("seccomp mode");
    if (status_numbers(*own, "Seccomp", 10) != status_numbers(*other, "Seccomp", 10)) {
      found.emplace_back(
          "seccomp: the process and the children have different system-call filters");
    }
    const auto capabilities = status_numbers(*other, "CapPrm", 16);
    // The kernel takes them away from every other user at exec.
    const bool none = rights.uid != 0 || rights.permitted == 0;
    // Of a container's usual set none matters to CUDA; these two open descriptors of others.
    constexpr std::uint64_t kThatMatter =
        (std::uint64_t{1} << CAP_SYS_PTRACE) | (std::uint64_t{1} << CAP_SYS_ADMIN);
    if (none && !capabilities.empty() && (capabilities.front() & kThatMatter) != 0) {
      found.emplace_back(
          "capabilities: the process has CAP_SYS_PTRACE or CAP_SYS_ADMIN, the children do not");
    }
  }

  void security_label() {
    // Where no security module is active the file cannot be read: nothing to compare.
    const auto own = proc_.read_file("self/attr/current");
    const auto other = process_.read_file("attr/current");
    if (!own || !other || *own == *other) return;
    found.push_back("security label: the process has " + escape_foreign(trim(label(*other))) +
                    ", the children " + escape_foreign(trim(label(*own))));
  }

  std::vector<std::string> found;

 private:
  void unknown(const std::string& what) { found.push_back(what + ": could not be compared"); }
  /// SELinux ends its label with a NUL.
  static std::string_view label(std::string_view text) { return text.substr(0, text.find('\0')); }

  const ProcDirectory& proc_;
  const ProcDirectory& process_;
};

}  // namespace

std::vector<std::string> find_differences(const ProcDirectory& proc, const ProbeIdentity& identity,
                                          const ChildRights& rights) {
  if (identity.pid == 0) return {};
  const auto process = proc.child(std::to_string(identity.pid));
  if (!process) return {"the process has ended: its view could not be compared"};
  Comparison comparison(proc, *process);
  // Mount, network and IPC namespace are entered, or nothing is run.
  if (!rights.pid_namespace.valid()) {
    comparison.name_space("pid", "the children are numbered outside of the process's");
  }
  comparison.name_space("user", "the children's ids and rights count outside of the process's");
  comparison.cgroup();
  comparison.status(rights);
  comparison.security_label();
  return std::move(comparison.found);
}

std::optional<std::string> driver_difference(const ProbePlan& plan,
                                             const std::optional<ProbeDriver>& driver) {
  if (!driver || !plan.target_driver) return std::nullopt;
  const auto& [key, path] = *plan.target_driver;
  // Device numbers alone say nothing (overlayfs, btrfs).
  const bool same = driver->key == key || (driver->key.inode == key.inode && driver->path == path);
  if (same) return std::nullopt;
  return "libcuda: the children got " + escape_foreign(driver->path) + ", the process maps " +
         escape_foreign(path);
}

}  // namespace cudart_doctor
