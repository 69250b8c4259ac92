// Starts one child of the probe: fork, the target's view and rights, the agreed descriptors, then
// the program from a descriptor that was opened before. Fails with the name of the step.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"
#include "rights.hpp"

namespace cudart_doctor {

/// Whose view a child gets.
enum class View : std::uint8_t {
  own,     ///< For files of ours only.
  target,  ///< The target's namespaces and root.
};

struct ChildRequest {
  std::string_view argument;  ///< argv[1]; a literal.
  const ChildRights* rights = nullptr;
  View view = View::target;
  const std::vector<std::string>* environment = nullptr;  ///< "NAME=VALUE"
  int executable = -1;
  int peer = -1;           ///< Becomes kProbePeerFd; -1: none.
  int order = -1;          ///< Becomes kProbeOrderFd; -1: none.
  std::vector<int> files;  ///< Become kProbeFirstFileFd and up.
  SteadyTime end;          ///< Until then the program must have been executed.
};

struct StartedChild {
  pid_t pid = -1;                    ///< Also its process group and session.
  UniqueFd results;                  ///< What it writes to kProbeResultFd; does not block.
  UniqueFd output;                   ///< Its stdout and stderr; does not block.
  UniqueFd handle;                   ///< Readable once it has ended; not valid before Linux 5.3.
  std::vector<StartNote> notes;      ///< Steps that it went on without.
  std::optional<StartNote> failure;  ///< It does not run: the child is gone already.
};

/// Errors: io (no descriptors, no process).
Result<StartedChild> start_child(const ChildRequest& request);

/// An order for kProbeOrderFd: a file in memory, at its start. Errors: io.
Result<UniqueFd> make_order_file(std::string_view text);

}  // namespace cudart_doctor
