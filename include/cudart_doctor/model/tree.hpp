// Many processes at once: those of a tree, or all of a node. What is known of each, who is alike,
// who is odd. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/comparison.hpp"
#include "cudart_doctor/model/exit_style.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

enum class ProcessState : std::uint8_t {
  judged,        ///< Something of CUDA is in it, and the rules were asked.
  without_cuda,  ///< Its mappings were read, and nothing of CUDA is among them.
  kernel_thread,
  zombie,
  gone,      ///< It ended while it was looked at, or its PID was used again.
  unread,    ///< Its mappings could not be read: whether it holds CUDA is not known.
  unjudged,  ///< Something of CUDA is in it, and it could not be judged.
};
inline constexpr std::size_t kProcessStates = 7;

/// A finding that counts, how grave it is, and whose.
struct FindingTag {
  std::string id;
  Severity severity = Severity::info;
  Owner owner = Owner::image;
  auto operator<=>(const FindingTag&) const = default;
};

/// A finding that does not count, and who allowed it ("--allow RT06 until 2027-01-31").
struct AllowedTag {
  std::string id;
  Severity severity = Severity::info;
  std::string by;
  auto operator<=>(const AllowedTag&) const = default;
};

/// What the rules say of one process.
struct ProcessVerdict {
  RunEnd end = RunEnd::ok;
  std::optional<Severity> worst;
  std::string undecided;               ///< What leaves it open; "" where it was decided.
  std::string sentence;                ///< Its report's headline.
  Finding lead;                        ///< The gravest that counts; without an id: none.
  std::vector<FindingTag> findings;    ///< All that count, gravest first.
  std::vector<AllowedTag> allowed;     ///< Those that do not count, gravest first.
  std::vector<std::string> ended;      ///< Allowances that ended: "--allow RT06 ended 2026-01-31".
  std::uint64_t runtimes = 0;          ///< Runtimes and look-alikes that are mapped.
  std::vector<std::string> consumers;  ///< "FlashInfer 0.6.17", of those that are there.
  std::vector<std::string> blind;      ///< "3 objects could not be read"
};

struct NodeProcess {
  /// Of a process without CUDA of a whole node no more than PID, parent, start time and name.
  ProcessFacts facts;
  ProcessState state = ProcessState::without_cuda;
  ErrorKind reason = ErrorKind::io;  ///< Of `unread` and `unjudged`.
  std::string note;                  ///< The same as a sentence, printable.
  /// Equal for processes that are given to the rules once; "": like no other.
  std::string likeness;
  std::int64_t judged_as = 0;     ///< PID of the process whose verdict it shares; 0: its own.
  std::vector<std::string> gpus;  ///< It maps their device nodes: UUIDs, else "nvidia0".
  std::optional<ProcessVerdict> verdict;
  std::optional<std::size_t> group;  ///< Index into TreeReport::groups.
};

/// Processes that do not differ in anything that decides which runtime is used.
struct AlikeProcesses {
  std::vector<std::size_t> members;  ///< Indices into TreeReport::processes, ascending.
  std::string fingerprint;           ///< 16 hexadecimal digits.
  ReportDigest digest;               ///< Of its first member.
};

/// Ranks of one group that are not as most of their kind.
struct OddRanks {
  std::size_t group = 0;
  std::vector<std::size_t> members;  ///< Indices into TreeReport::processes.
  std::vector<Change> changes;       ///< From the majority's group to theirs.
};

/// Processes of one kind that hold a GPU or a runtime: the ranks of a server.
struct RankSet {
  std::vector<std::size_t> members;
  /// The group that more than half of three or more are in; nothing: there is none.
  std::optional<std::size_t> majority;
  std::vector<OddRanks> odd;  ///< The largest first.
  /// Of the same kind, which they are fewer than half of, without a GPU or a runtime.
  std::vector<std::size_t> without;
};

enum class TreeScope : std::uint8_t { tree, node };

struct TreeReport {
  TreeScope scope = TreeScope::tree;
  std::int64_t root = 0;  ///< Of a tree.
  std::string host;
  std::string taken_at;                ///< UTC, RFC 3339, seconds.
  std::vector<NodeProcess> processes;  ///< Of a tree parents first; of a node by PID.
  std::vector<AlikeProcesses> groups;  ///< The gravest first, then the largest.
  std::vector<RankSet> ranks;          ///< Of a tree.
  std::vector<std::string> notes;      ///< Limits of the look, one printable sentence each.

  Severity fail_on = Severity::error;
  ExitStyle exit_style = ExitStyle::standard;
  RunEnd end = RunEnd::ok;
  std::optional<Severity> worst;
  std::optional<std::size_t> lead;  ///< The gravest process; nothing where none was judged.
  std::string undecided;            ///< Why, where `end` says so.
  int exit_code = 0;
};

}  // namespace cudart_doctor
