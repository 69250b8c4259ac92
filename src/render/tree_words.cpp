#include "render/tree_words.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/analyze/tree_rows.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "render/describe.hpp"
#include "render/diff_rows.hpp"
#include "render/diff_words.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kTitle = 44;  // Columns of a title in a sentence.

std::size_t count_state(const TreeReport& report, ProcessState state) {
  return static_cast<std::size_t>(std::ranges::count(report.processes, state, &NodeProcess::state));
}

/// Processes of which it is not known whether something is wrong with them.
std::size_t count_open(const TreeReport& report) {
  return count_state(report, ProcessState::unread) + count_state(report, ProcessState::unjudged);
}

/// A verdict speaks of what could be seen.
std::string open_words(const TreeReport& report) {
  const std::size_t open = count_open(report);
  if (open == 0) return ".";
  return ", of what could be read: " + std::to_string(open) + " could not.";
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

/// What the rule that the odd ones' headline follows takes there, and takes in the others.
std::string takes_words(const ReportDigest& first, const ReportDigest& second) {
  const std::string* const before = taken_by(first, second.policy);
  const std::string* const after = taken_by(second, second.policy);
  if (before == nullptr || after == nullptr || *before == *after) return {};
  return "; it takes " + printable(base_name(*after)) + " instead of " +
         printable(base_name(*before));
}

/// One by its title, several by their PIDs.
std::string who_of(const TreeReport& report, const std::vector<std::size_t>& members) {
  if (members.size() != 1) return pids_words(report, members, 4);
  const ProcessFacts& facts = report.processes[members.front()].facts;
  return cut_end(tree_title(facts), kTitle) + " (pid " + std::to_string(facts.pid) + ")";
}

/// Whether the order of addresses, which another start does not repeat, is part of it.
bool by_order(const OddRanks& odd) {
  return std::ranges::any_of(odd.changes, [](const Change& each) {
    return each.area == Area::order && each.kind != ChangeKind::not_compared;
  });
}

}  // namespace

std::string_view name_of(ProcessState state) {
  constexpr std::array<std::string_view, kProcessStates> kNames = {
      "judged", "without_cuda", "kernel_thread", "zombie", "gone", "unread", "unjudged"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view name_of(TreeScope scope) { return scope == TreeScope::tree ? "tree" : "node"; }

std::string group_letter(std::optional<std::size_t> group) {
  return group ? digest_label(*group) : std::string();
}

VerdictWords verdict_words(const NodeProcess& process) {
  switch (process.state) {
    case ProcessState::judged: break;
    case ProcessState::without_cuda: return {"no CUDA", "", Tone::plain};
    case ProcessState::kernel_thread: return {"kernel thread", "", Tone::plain};
    case ProcessState::zombie: return {"zombie", "", Tone::plain};
    case ProcessState::gone: return {"ended", "", Tone::plain};
    case ProcessState::unread: return {"NOT READ", "", Tone::notice};
    case ProcessState::unjudged: return {"NOT JUDGED", "", Tone::notice};
  }
  const ProcessVerdict& verdict = *process.verdict;
  if (verdict.end == RunEnd::undecided) return {"UNDECIDED", "", Tone::notice};
  if (verdict.end == RunEnd::ok && verdict.worst.value_or(Severity::info) == Severity::info) {
    return {"ok", "", Tone::good};
  }
  return {severity_word(verdict.lead.severity), printable(verdict.lead.id),
          tone_of(verdict.lead.severity)};
}

std::string tree_title(const ProcessFacts& facts) {
  return names_itself(facts) ? escape_foreign(facts.comm) : process_title(facts);
}

std::string process_words(const NodeProcess& process) {
  std::string out = "pid " + std::to_string(process.facts.pid);
  const auto inner = inner_pid(process.facts);
  if (inner && *inner != process.facts.pid) out += " (inside: " + std::to_string(*inner) + ")";
  return std::string(trim(out + " " + tree_title(process.facts)));
}

std::string pids_words(const TreeReport& report, const std::vector<std::size_t>& members,
                       std::size_t most) {
  std::string out = members.size() == 1 ? "pid " : "pids ";
  const std::size_t shown = std::min(members.size(), most);
  std::vector<std::int64_t> pids;
  for (const std::size_t member : members) pids.push_back(report.processes[member].facts.pid);
  std::ranges::sort(pids);
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + std::to_string(pids[i]);
  if (shown < members.size()) {
    out += " and " + std::to_string(members.size() - shown) + " more";
  }
  return out;
}

std::string short_gpu(std::string_view gpu) {
  constexpr std::size_t kShort = 12;  // "GPU-" and eight digits, as in the report of one process.
  return escape_foreign(gpu.starts_with("GPU-") ? gpu.substr(0, kShort) : gpu);
}

std::string container_of(std::string_view cgroup) {
  constexpr std::size_t kWhole = 64;
  constexpr std::size_t kShort = 12;
  std::size_t run = 0;
  // The last one: a container in a container has the outer ones before it.
  std::string out;
  for (std::size_t i = 0; i <= cgroup.size(); ++i) {
    const char letter = i < cgroup.size() ? cgroup[i] : '/';
    const bool hex = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    if (hex) {
      ++run;
      continue;
    }
    if (run == kWhole) out = cgroup.substr(i - kWhole, kShort);
    run = 0;
  }
  return out;
}

bool leads_with_finding(const TreeReport& report) {
  if (!report.lead) return false;
  const ProcessVerdict& verdict = *report.processes[*report.lead].verdict;
  const bool grave = verdict.worst && *verdict.worst >= Severity::warning;
  return !verdict.lead.id.empty() && (verdict.end == RunEnd::findings || grave);
}

std::string tree_sentence(const TreeReport& report) {
  if (leads_with_finding(report)) {
    return printable(report.processes[*report.lead].verdict->lead.headline);
  }
  const std::size_t judged = count_state(report, ProcessState::judged);
  const std::size_t open = count_open(report);
  if (judged == 0 && open != 0 && count_state(report, ProcessState::without_cuda) == 0) {
    return open == 1 ? "The one process could not be read."
                     : "None of " + std::to_string(open) + " processes could be read.";
  }
  if (const std::size_t with_cuda = count_state(report, ProcessState::unjudged);
      judged == 0 && with_cuda != 0) {
    return count_of(with_cuda, "process", "processes") + " with CUDA could not be judged.";
  }
  if (judged == 0) {
    return report.scope == TreeScope::tree
               ? "No process of this tree holds anything of CUDA" + open_words(report)
               : "No process holds anything of CUDA" + open_words(report);
  }
  return std::string(count_allowed(report) == 0 ? "Nothing" : "Nothing that counts") +
         " is wrong in " + count_of(judged, "process", "processes") + " with CUDA" +
         open_words(report);
}

std::vector<std::string> state_counts(const TreeReport& report) {
  struct Row {
    ProcessState state;
    std::string_view words;
  };
  constexpr std::array kRows = {Row{ProcessState::judged, "with CUDA"},
                                Row{ProcessState::unjudged, "with CUDA not judged"},
                                Row{ProcessState::without_cuda, "without"},
                                Row{ProcessState::unread, "not read"},
                                Row{ProcessState::kernel_thread, "of the kernel"},
                                Row{ProcessState::zombie, "zombies"},
                                Row{ProcessState::gone, "ended meanwhile"}};
  std::vector<std::string> out;
  const auto counts = count_states(report.processes);
  for (const Row& row : kRows) {
    const std::size_t count = counts[static_cast<std::size_t>(row.state)];
    if (count == 0) continue;
    std::string words(row.words);
    if (row.state == ProcessState::zombie && count == 1) words = "zombie";
    // Alone it would be without what?
    if (row.state == ProcessState::without_cuda && out.empty()) words += " CUDA";
    out.push_back(std::to_string(count) + " " + words);
  }
  return out;
}

std::size_t count_findings(const TreeReport& report, Severity severity) {
  std::size_t count = 0;
  for (const NodeProcess& process : report.processes) {
    if (!process.verdict) continue;
    count += static_cast<std::size_t>(
        std::ranges::count(process.verdict->findings, severity, &FindingTag::severity));
  }
  return count;
}

std::size_t count_allowed(const TreeReport& report) {
  std::size_t count = 0;
  for (const NodeProcess& process : report.processes) {
    if (process.verdict) count += process.verdict->allowed.size();
  }
  return count;
}

std::vector<std::string> allowed_ids(const TreeReport& report) {
  std::vector<std::string> out;
  for (const NodeProcess& process : report.processes) {
    if (!process.verdict) continue;
    for (const AllowedTag& tag : process.verdict->allowed) add_once(out, printable(tag.id));
  }
  return out;
}

std::string further_words(const NodeProcess& process) {
  const std::string named = verdict_words(process).id;
  std::vector<std::string> own;
  std::vector<std::string> of_node;
  bool grave = false;
  for (const FindingTag& tag : process.verdict->findings) {
    const std::string id = printable(tag.id);
    if (id == named) continue;
    grave = grave || tag.severity > Severity::info;
    if (tag.owner == Owner::node) {
      add_once(of_node, id + " (node)");
    } else {
      add_once(own, id);
    }
  }
  if (own.empty() && of_node.empty()) return {};
  const std::string_view before = !named.empty() ? "; also " : grave ? "; found: " : "; info: ";
  return std::string(before) + join(own, ", ") + (own.empty() || of_node.empty() ? "" : "; ") +
         join(of_node, ", ");
}

std::string owner_words(const TreeReport& report) {
  const Owner owner = report.processes[*report.lead].verdict->lead.owner;
  std::vector<std::string> of_node;
  for (const NodeProcess& process : report.processes) {
    if (!process.verdict) continue;
    for (const FindingTag& tag : process.verdict->findings) {
      const bool grave = tag.severity >= Severity::warning;
      if (grave && tag.owner == Owner::node) add_once(of_node, printable(tag.id));
    }
  }
  if (owner == Owner::node || of_node.empty()) return std::string(owner_advice(owner));
  const bool one = of_node.size() == 1;
  return std::string(owner == Owner::image ? "image; " : "launch settings; ") +
         join(of_node, ", ") + (one ? " is the node's" : " are the node's");
}

std::size_t count_odd(const RankSet& set) {
  std::size_t count = set.without.size();
  for (const OddRanks& each : set.odd) count += each.members.size();
  return count;
}

std::string without_words(const TreeReport& report, const RankSet& set) {
  const bool alone = set.without.size() == 1;
  return who_of(report, set.without) + (alone ? " holds" : " hold") +
         " neither a GPU nor a runtime, unlike " + std::to_string(set.members.size()) +
         " others of that title: " + (alone ? "it" : "they") +
         " may still be starting, or run on the CPU";
}

std::string odd_words(const TreeReport& report, const RankSet& set, const OddRanks& odd) {
  std::size_t most = set.members.size();
  for (const OddRanks& each : set.odd) most -= each.members.size();
  const ReportDigest& first = report.groups[*set.majority].digest;
  const ReportDigest& second = report.groups[odd.group].digest;
  const bool alone = odd.members.size() == 1;
  return who_of(report, odd.members) + (alone ? " differs" : " differ") + " from " +
         std::to_string(most) + " of " + std::to_string(set.members.size()) + " ranks (" +
         group_letter(set.majority) + "): " + verdict_phrase(first, second) +
         takes_words(first, second) + "; different: " + summary_of(odd.changes) +
         (by_order(odd) ? "; addresses are luck: a restart may give another answer" : "");
}

}  // namespace cudart_doctor
