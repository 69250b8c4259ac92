// Rights: read from /proc/PID/status, taken over in the order in which the kernel allows it.
#include "rights.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 14> kStepNames = {"setsid",
                                                         "prctl(PR_SET_PDEATHSIG)",
                                                         "dup2",
                                                         "setns(CLONE_NEWPID)",
                                                         "setns",
                                                         "chroot",
                                                         "/proc/self/fd",
                                                         "prctl(PR_CAPBSET_DROP)",
                                                         "setgroups",
                                                         "setresgid",
                                                         "setresuid",
                                                         "capset",
                                                         "prctl(PR_SET_NO_NEW_PRIVS)",
                                                         "execveat"};

/// Real and effective id of a line of status. A process that has both root and another id is given
/// the other: the smaller right of the two.
template <typename Id>
Result<Id> smaller_right(std::string_view status, std::string_view key) {
  const auto ids = status_numbers(status, key, 10);
  constexpr std::size_t kShown = 4;
  if (ids.size() != kShown || ids[0] > UINT32_MAX || ids[1] > UINT32_MAX) {
    return fail(ErrorKind::malformed, "status has no whole line " + std::string(key));
  }
  return static_cast<Id>(ids[1] != 0 ? ids[1] : ids[0]);
}

std::uint64_t mask_of(std::string_view status, std::string_view key) {
  const auto numbers = status_numbers(status, key, 16);
  return numbers.empty() ? 0 : numbers.front();
}

std::vector<gid_t> own_groups() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count > 0 && ::getgroups(count, groups.data()) != count) groups.clear();
  std::sort(groups.begin(), groups.end());
  return groups;
}

UniqueFd open_below(const ProcDirectory& process, const char* name, int flags) {
  return UniqueFd(::openat(process.fd(), name, flags | O_CLOEXEC));
}

bool same_process(const ProcDirectory& process, const ProbeIdentity& identity) {
  if (!identity.start_ticks) return true;
  const auto text = process.read_file("stat");
  const auto stat = text ? parse_stat(*text) : tl::unexpected(text.error());
  return stat && stat->start_ticks == *identity.start_ticks;
}

/// Not known counts as not shared.
bool shares(const ProcDirectory& proc, const ProcDirectory& process, const std::string& kind) {
  const auto own = proc.read_link("self/ns/" + kind);
  const auto other = process.read_link("ns/" + kind);
  return own && other && *own == *other;
}

/// Whether another root directory than ours is the process's; also in our mount namespace.
Result<bool> has_other_root(const ProcDirectory& proc, const ProcDirectory& process) {
  const auto own = proc.stat_file("self/root/.");
  const auto other = process.stat_file("root/.");
  if (!own || !other) return tl::unexpected(own ? other.error() : own.error());
  return own->st_dev != other->st_dev || own->st_ino != other->st_ino;
}

/// Opens what the child enters. Errors: permission, gone.
Result<void> open_view(const ProcDirectory& proc, const ProcDirectory& process,
                       ChildRights& rights) {
  struct Entered {
    std::string kind;
    UniqueFd* fd;
  };
  for (const auto& [kind, fd] :
       {Entered{"mnt", &rights.mount_namespace}, Entered{"net", &rights.network_namespace},
        Entered{"ipc", &rights.ipc_namespace}, Entered{"pid", &rights.pid_namespace}}) {
    // Without its /proc a PID namespace is of no use.
    const bool wanted = kind == "pid" ? rights.mount_namespace.valid() : true;
    if (!wanted || shares(proc, process, kind)) continue;
    const std::string name = "ns/" + kind;
    *fd = open_below(process, name.c_str(), O_RDONLY);
    if (!fd->valid()) {
      return tl::unexpected(system_error(errno, process.shown(name), Need::same_user));
    }
  }
  const auto other_root = has_other_root(proc, process);
  if (!other_root) return tl::unexpected(other_root.error());
  if (!*other_root && !rights.mount_namespace.valid()) return {};
  rights.root = open_below(process, "root", O_PATH | O_DIRECTORY);
  if (rights.root.valid()) return {};
  return tl::unexpected(system_error(errno, process.shown("root"), Need::same_user));
}

struct CapabilitySets {
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> words = {};
};

constexpr __user_cap_header_struct kOwnCapabilities = {_LINUX_CAPABILITY_VERSION_3, 0};

/// glibc has no wrapper, and libcap would be a library more.
bool get_capabilities(CapabilitySets& sets) {
  __user_cap_header_struct header = kOwnCapabilities;
  return ::syscall(SYS_capget, &header, sets.words.data()) == 0;
}

bool set_capabilities(const CapabilitySets& sets) {
  __user_cap_header_struct header = kOwnCapabilities;
  return ::syscall(SYS_capset, &header, sets.words.data()) == 0;
}

void cut_bounding_set(std::uint64_t keep, const StartReport& report) {
  constexpr unsigned kMost = 64;
  for (unsigned capability = 0; capability < kMost; ++capability) {
    if (((keep >> capability) & 1U) != 0) continue;
    const int held = ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (held < 0) return;  // The kernel knows no higher ones.
    // EPERM: we may not cut it. The permitted set is cut and no exec can add to it then.
    if (held == 1 && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EPERM) {
      report.give_up(StartStep::bounding_set, errno);
    }
  }
}

void take_groups(const ChildRights& rights, const StartReport& report) {
  const std::vector<gid_t> held = own_groups();
  if (held == rights.groups) return;
  if (::setgroups(rights.groups.size(), rights.groups.data()) == 0) return;
  // A user who inspects a process of his own may not change them; more than its must go.
  if (!std::includes(rights.groups.begin(), rights.groups.end(), held.begin(), held.end())) {
    report.give_up(StartStep::groups, errno);
  }
  report.note(StartStep::groups, errno);
}

void cut_capabilities(std::uint64_t permitted, const StartReport& report) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  CapabilitySets sets;
  if (!get_capabilities(sets)) report.give_up(StartStep::capabilities, errno);
  constexpr unsigned kWordBits = 32;
  for (std::size_t word = 0; word < sets.words.size(); ++word) {
    const auto allowed = static_cast<std::uint32_t>(permitted >> (kWordBits * word));
    sets.words[word].permitted &= allowed;
    sets.words[word].effective = sets.words[word].permitted;
    sets.words[word].inheritable = 0;
  }
  if (!set_capabilities(sets)) report.give_up(StartStep::capabilities, errno);
}

}  // namespace

std::string describe(const StartNote& note) {
  return std::string(kStepNames.at(static_cast<std::size_t>(note.step))) + ": " +
         std::strerror(note.error);
}

void StartReport::write(const StartNote& note) const {
  std::array<char, sizeof note> bytes;
  std::memcpy(bytes.data(), &note, sizeof note);
  // Smaller than PIPE_BUF: whole or not at all.
  while (::write(fd_, bytes.data(), bytes.size()) < 0 && errno == EINTR) {
  }
}

void StartReport::give_up(StartStep step, int error) const {
  constexpr int kNotStarted = 126;
  write({step, true, error});
  ::_exit(kNotStarted);
}

std::vector<std::uint64_t> status_numbers(std::string_view status, std::string_view key, int base) {
  std::vector<std::uint64_t> numbers;
  for (const std::string_view line : split(status, '\n')) {
    if (!line.starts_with(key) || line.substr(key.size()).substr(0, 1) != ":") continue;
    std::string_view rest = trim(line.substr(key.size() + 1));
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
      if (const auto number = parse_unsigned(rest.substr(0, end), base)) numbers.push_back(*number);
      rest = trim(rest.substr(end));
    }
    break;
  }
  return numbers;
}

Result<ChildRights> read_rights(const ProcDirectory& proc, const ProbeIdentity& identity) {
  ChildRights rights;
  if (identity.pid == 0) {
    rights.uid = ::getuid();
    rights.gid = ::getgid();
    rights.groups = own_groups();
    return rights;
  }
  const std::string who = "PID " + std::to_string(identity.pid);
  const auto process = proc.child(std::to_string(identity.pid));
  if (!process) return fail(ErrorKind::gone, who + " has ended");
  const auto status = process->read_file("status");
  if (!status) return fail(ErrorKind::gone, who + " has ended");
  const auto uid = smaller_right<uid_t>(*status, "Uid");
  const auto gid = smaller_right<gid_t>(*status, "Gid");
  if (!uid || !gid) return tl::unexpected(uid ? gid.error() : uid.error());
  const auto real = status_numbers(*status, "Uid", 10).front();
  if (!same_process(*process, identity) || (identity.uid && *identity.uid != real)) {
    return fail(ErrorKind::gone, who + " is not the process any more that was inspected");
  }
  rights.uid = *uid;
  rights.gid = *gid;
  for (const auto group : status_numbers(*status, "Groups", 10)) {
    rights.groups.push_back(static_cast<gid_t>(group));
  }
  std::sort(rights.groups.begin(), rights.groups.end());
  rights.bounding = mask_of(*status, "CapBnd");
  // The sets of a process in another user namespace hold there only: here they would be more. In a
  // container they are held down by its system-call filter and its device rules, which the child
  // does not have: CAP_MKNOD would be the host's disks.
  const bool here = shares(proc, *process, "user") && shares(proc, *process, "mnt");
  rights.permitted = here ? mask_of(*status, "CapPrm") : 0;
  rights.directory = open_below(*process, "cwd", O_PATH | O_DIRECTORY);
  if (const auto opened = open_view(proc, *process, rights); !opened) {
    return tl::unexpected(opened.error());
  }
  return rights;
}

void take_view(const ChildRights& rights, const StartReport& report) {
  struct Entered {
    const UniqueFd& fd;
    int kind;
  };
  for (const Entered& one : {Entered{rights.network_namespace, CLONE_NEWNET},
                             Entered{rights.ipc_namespace, CLONE_NEWIPC},
                             Entered{rights.mount_namespace, CLONE_NEWNS}}) {
    if (one.fd.valid() && ::setns(one.fd.get(), one.kind) != 0) {
      report.give_up(StartStep::other_namespace, errno);
    }
  }
  // setns leads to the namespace's root; the target may have another one in it.
  if (rights.root.valid() && (::fchdir(rights.root.get()) != 0 || ::chroot(".") != 0)) {
    report.give_up(StartStep::root_directory, errno);
  }
}

void take_rights(const ChildRights& rights, const StartReport& report) {
  cut_bounding_set(rights.bounding, report);
  take_groups(rights, report);
  // Also where nothing changes: without privilege that is allowed, and the saved ids must go too.
  if (::setresgid(rights.gid, rights.gid, rights.gid) != 0) {
    report.give_up(StartStep::group_id, errno);
  }
  if (::setresuid(rights.uid, rights.uid, rights.uid) != 0) {
    report.give_up(StartStep::user_id, errno);
  }
  cut_capabilities(rights.permitted, report);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    report.give_up(StartStep::no_new_privileges, errno);
  }
  // With the target's rights: what it could not enter, the child does not either.
  if (rights.directory.valid() && ::fchdir(rights.directory.get()) != 0) {
    if (::chdir("/") != 0) report.give_up(StartStep::root_directory, errno);
  }
}

}  // namespace cudart_doctor
