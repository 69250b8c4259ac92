// Many judged processes: who is alike, which rank is odd, what the whole comes to. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/tree.hpp"

namespace cudart_doctor {

/// `digest` without what ranks of one server are given each their own (CUDA_VISIBLE_DEVICES and
/// its like) and without what depends on who looked.
ReportDigest comparable(ReportDigest digest);

/// Puts processes into groups as they come, and keeps one digest a group.
class ProcessGroups {
 public:
  /// So many different ones are kept; a process beyond them is in no group.
  static constexpr std::size_t kMost = 512;

  /// The group of a process with this digest (comparable() is done here).
  std::optional<std::size_t> place(ReportDigest digest);
  /// Fills report.groups, the gravest first, and numbers the processes' groups anew.
  void give_to(TreeReport& report) &&;

 private:
  std::map<std::string, std::size_t> by_text_;
  std::vector<AlikeProcesses> groups_;
};

/// Fills report.ranks of a tree: processes of one kind (as deep in the tree, the same executable,
/// titles that differ in numbers only) that hold a GPU or a runtime, and the few that hold none.
/// Groups are there.
void find_ranks(TreeReport& report);

/// Fills end, worst, lead, undecided and exit code. What was found stands; without that:
/// - a tree is undecided where a process of it could not be read or judged;
/// - a node is undecided where one that holds CUDA could not be judged, one did not answer, not a
///   single process could be read, or none was judged and some could not be read. Beside one that
///   was judged, what belongs to others and may not be read decides nothing.
void conclude(TreeReport& report);

/// How grave a process is, for orders: larger is graver. 0: nothing is wrong with it.
int gravity_of(const NodeProcess& process);

/// Whether `process` makes the verdict of `scope` open by itself.
bool leaves_open(const NodeProcess& process, TreeScope scope);

/// How many levels below the root a tree's process is; 0 for the root. In the order of processes.
std::vector<std::size_t> depths(const std::vector<NodeProcess>& processes);

/// How many processes are in each state, by ProcessState.
std::vector<std::size_t> count_states(const std::vector<NodeProcess>& processes);

}  // namespace cudart_doctor
