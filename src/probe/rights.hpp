// Whose rights and whose view a child of the probe gets. Read in the parent, taken over in the
// child between fork and exec, so that nothing of the target is used with more rights than it has.
// What cannot be copied from outside, a system-call filter or a security label, is told as a
// difference.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// What a child does between fork and exec, as far as it can fail.
enum class StartStep : std::uint8_t {
  session,
  parent,
  descriptors,
  pid_namespace,
  other_namespace,
  root_directory,
  own_proc,
  bounding_set,
  groups,
  group_id,
  user_id,
  capabilities,
  no_new_privileges,
  program,
};

/// One step that failed, as it travels from the child to its parent.
struct StartNote {
  StartStep step = StartStep::program;
  bool fatal = true;  ///< false: the child went on without it.
  int error = 0;      ///< errno
};

/// "setns: Operation not permitted".
std::string describe(const StartNote& note);

/// Tells the parent of failed steps. Safe between fork and exec.
class StartReport {
 public:
  explicit StartReport(int fd) : fd_(fd) {}
  /// Notes a step that only makes the view truer.
  void note(StartStep step, int error) const { write({step, false, error}); }
  /// Notes why the child does not run, and ends it.
  [[noreturn]] void give_up(StartStep step, int error) const;

 private:
  void write(const StartNote& note) const;
  int fd_;
};

struct ChildRights {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::uint64_t permitted = ~std::uint64_t{0};  ///< Capabilities, at most those that we have.
  std::uint64_t bounding = ~std::uint64_t{0};
  UniqueFd mount_namespace;    ///< Of these, what is not valid is ours.
  UniqueFd network_namespace;  ///< Sockets that have no file are reached through it.
  UniqueFd ipc_namespace;
  UniqueFd pid_namespace;  ///< Where the mount namespace's /proc numbers processes.
  UniqueFd root;           ///< The target's root directory.
  UniqueFd directory;      ///< The target's working directory.
};

/// The target's, from /proc/PID; ours where identity.pid is 0. Of real and effective user the one
/// that is not root. Errors: gone (also another process than the one inspected), permission, io.
Result<ChildRights> read_rights(const ProcDirectory& proc, const ProbeIdentity& identity);

/// Numbers of one line of /proc/PID/status ("Groups", "CapPrm"); empty where there is none.
std::vector<std::uint64_t> status_numbers(std::string_view status, std::string_view key, int base);

/// In the child: enters the namespaces and the root. A failure ends it: a file from a container
/// must not act outside of it.
void take_view(const ChildRights& rights, const StartReport& report);

/// In the child: groups, ids, capabilities, no new privileges. A failure that would leave it more
/// rights than the target has ends it.
void take_rights(const ChildRights& rights, const StartReport& report);

}  // namespace cudart_doctor
