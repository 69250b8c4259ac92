// Phrases that the formats of `tree` and `--all` share. All of them are printable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/tree.hpp"
#include "render/style.hpp"

namespace cudart_doctor {

/// "judged", "without_cuda": as in JSON.
std::string_view name_of(ProcessState state);
std::string_view name_of(TreeScope scope);

/// "A", "B", ...: what a group is called; "" for none.
std::string group_letter(std::optional<std::size_t> group);

/// "CRITICAL RT04", "ok", "no CUDA", "not read": what became of a process, in a few words.
struct VerdictWords {
  std::string word;
  std::string id;  ///< "RT04"; "" for none.
  Tone tone = Tone::plain;
};
VerdictWords verdict_words(const NodeProcess& process);

/// The command line in short, printable and without secrets; the name that the process gave itself
/// where it tells more.
std::string tree_title(const ProcessFacts& facts);
/// "pid 4123 (inside: 77) VLLM::Worker_TP2"
std::string process_words(const NodeProcess& process);
/// "pid 4121, 4122 and 14 more"
std::string pids_words(const TreeReport& report, const std::vector<std::size_t>& members,
                       std::size_t most);

/// "GPU-cc1d84a2", where it is a UUID.
std::string short_gpu(std::string_view gpu);

/// The container whose cgroup this is: twelve hexadecimal digits; "" for none that is known.
std::string container_of(std::string_view cgroup);

/// Whether the whole is led by a finding of its lead, a warning or graver or one that fails.
bool leads_with_finding(const TreeReport& report);

/// The answer in one sentence.
std::string tree_sentence(const TreeReport& report);

/// "16 with CUDA", "800 without", ... of what there is any.
std::vector<std::string> state_counts(const TreeReport& report);

/// By severity, how many findings count in all processes: of `severity`.
std::size_t count_findings(const TreeReport& report, Severity severity);

/// How many findings of all processes are allowed.
std::size_t count_allowed(const TreeReport& report);
/// Each once: "RT06", "RT07".
std::vector<std::string> allowed_ids(const TreeReport& report);

/// What else was found than what the verdict's words name: "; also RT03; DR10 (node)". "" nothing.
std::string further_words(const NodeProcess& process);

/// Whose the finding that leads is; without the advice not to drain where the node has one too.
std::string owner_words(const TreeReport& report);

/// How a rank of `odd` differs from the majority of its kind, without an end.
std::string odd_words(const TreeReport& report, const RankSet& set, const OddRanks& odd);
/// Who of a kind holds nothing of CUDA, without an end; for sets with such ones.
std::string without_words(const TreeReport& report, const RankSet& set);
/// Ranks that are not as most of their kind.
std::size_t count_odd(const RankSet& set);

}  // namespace cudart_doctor
