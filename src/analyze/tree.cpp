#include "cudart_doctor/analyze/tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/analyze/tree_rows.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// What a launcher sets for each rank anew. Only variables that a report shows can differ at all.
constexpr std::array<std::string_view, 4> kOfEachRank = {
    "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LOCAL_RANK", "RANK"};

int gravity_of(const ProcessVerdict& verdict) {
  const int worst = verdict.worst ? 1 + int(*verdict.worst) : 0;
  constexpr int kUndecided = 50;
  constexpr int kFound = 100;
  switch (verdict.end) {
    case RunEnd::findings: return kFound + worst;
    case RunEnd::usage:
    case RunEnd::undecided: return kUndecided + worst;
    case RunEnd::warned:
    case RunEnd::ok: break;
  }
  return worst;
}

/// Whether a majority of them may be spoken of.
bool is_majority(std::size_t members, std::size_t all) {
  constexpr std::size_t kFewest = 3;
  return all >= kFewest && members * 2 > all;
}

/// Depth, executable and title without numbers.
using Kind = std::tuple<std::size_t, std::string, std::string>;

Kind kind_of(const NodeProcess& process, std::size_t depth) {
  const auto* const executable = process.facts.executable.get();
  return {depth, executable != nullptr ? *executable : std::string(), title_stem(process)};
}

bool is_rank(const NodeProcess& process) {
  const bool holds = !process.gpus.empty() || (process.verdict && process.verdict->runtimes != 0);
  return process.state == ProcessState::judged && process.group && holds;
}

/// Was looked into, and has nothing that makes a rank.
bool holds_nothing(const NodeProcess& process) {
  return process.state == ProcessState::without_cuda ||
         (process.state == ProcessState::judged && !is_rank(process));
}

RankSet rank_set(const TreeReport& report, std::vector<std::size_t> members) {
  std::map<std::size_t, std::vector<std::size_t>> by_group;
  for (const std::size_t member : members) {
    by_group[*report.processes[member].group].push_back(member);
  }
  RankSet out;
  for (const auto& [group, of_group] : by_group) {
    if (is_majority(of_group.size(), members.size())) out.majority = group;
  }
  for (auto& [group, of_group] : by_group) {
    if (!out.majority || group == *out.majority) continue;
    out.odd.push_back(
        {group, std::move(of_group),
         differences(report.groups[*out.majority].digest, report.groups[group].digest)});
  }
  std::ranges::sort(out.odd, {}, [](const OddRanks& odd) {
    return std::pair(-std::ssize(odd.members), odd.members.front());
  });
  out.members = std::move(members);
  return out;
}

std::string who(const NodeProcess& process) { return "pid " + std::to_string(process.facts.pid); }

std::string why_open(const NodeProcess& process) {
  if (process.verdict) return who(process) + ": " + process.verdict->undecided;
  return who(process) + ": " + process.note;
}

}  // namespace

ReportDigest comparable(ReportDigest digest) {
  std::vector<IgnoredPart> parts;
  for (const std::string_view name : kOfEachRank) {
    parts.push_back({Area::environment, std::string(name)});
  }
  return without(std::move(digest), parts);
}

std::optional<std::size_t> ProcessGroups::place(ReportDigest digest) {
  ReportDigest kept = comparable(std::move(digest));
  std::string text = canonical_text(kept);
  const auto found = by_text_.find(text);
  if (found != by_text_.end()) return found->second;
  if (groups_.size() == kMost) return std::nullopt;
  const std::size_t number = groups_.size();
  groups_.push_back({{}, fingerprint_of(text), std::move(kept)});
  by_text_.emplace(std::move(text), number);
  return number;
}

void ProcessGroups::give_to(TreeReport& report) && {
  std::vector<int> gravity(groups_.size(), 0);
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const NodeProcess& process = report.processes[i];
    if (!process.group) continue;
    groups_[*process.group].members.push_back(i);
    gravity[*process.group] = gravity_of(process);
  }
  std::vector<std::size_t> order(groups_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto key = [&](std::size_t group) {
      const auto& members = groups_[group].members;
      const std::size_t first = members.empty() ? report.processes.size() : members.front();
      return std::tuple(-gravity[group], -std::ssize(members), first);
    };
    return key(a) < key(b);
  });
  std::vector<std::size_t> now(groups_.size());
  for (std::size_t i = 0; i < order.size(); ++i) now[order[i]] = i;
  for (NodeProcess& process : report.processes) {
    if (process.group) process.group = now[*process.group];
  }
  report.groups.clear();
  for (const std::size_t group : order) report.groups.push_back(std::move(groups_[group]));
}

void find_ranks(TreeReport& report) {
  const std::vector<std::size_t> deep = depths(report.processes);
  std::map<Kind, std::vector<std::size_t>> kinds;
  std::map<Kind, std::vector<std::size_t>> others;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const NodeProcess& process = report.processes[i];
    if (is_rank(process)) kinds[kind_of(process, deep[i])].push_back(i);
    if (holds_nothing(process)) others[kind_of(process, deep[i])].push_back(i);
  }
  for (auto& [kind, members] : kinds) {
    if (members.size() < 2) continue;
    const std::size_t holders = members.size();
    report.ranks.push_back(rank_set(report, std::move(members)));
    const auto without = others.find(kind);
    if (without != others.end() && is_majority(holders, holders + without->second.size())) {
      report.ranks.back().without = std::move(without->second);
    }
  }
  std::ranges::sort(report.ranks, {}, [](const RankSet& set) { return set.members.front(); });
}

int gravity_of(const NodeProcess& process) {
  return process.verdict ? gravity_of(*process.verdict) : 0;
}

bool leaves_open(const NodeProcess& process, TreeScope scope) {
  switch (process.state) {
    case ProcessState::judged: return process.verdict && process.verdict->end == RunEnd::undecided;
    case ProcessState::unjudged: return true;
    case ProcessState::unread:
      return scope == TreeScope::tree || process.reason != ErrorKind::permission;
    case ProcessState::without_cuda:
    case ProcessState::kernel_thread:
    case ProcessState::zombie:
    case ProcessState::gone: break;
  }
  return false;
}

void conclude(TreeReport& report) {
  bool read_one = false;
  bool judged_one = false;
  std::size_t unread = 0;
  report.end = RunEnd::ok;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const NodeProcess& process = report.processes[i];
    read_one = read_one || process.state == ProcessState::judged ||
               process.state == ProcessState::without_cuda;
    judged_one = judged_one || process.state == ProcessState::judged;
    unread += process.state == ProcessState::unread ? 1 : 0;
    if (report.undecided.empty() && leaves_open(process, report.scope)) {
      report.undecided = why_open(process);
    }
    if (!process.verdict) continue;
    report.worst = std::max(report.worst, process.verdict->worst);
    if (process.verdict->end == RunEnd::findings) report.end = RunEnd::findings;
    if (!report.lead || gravity_of(process) > gravity_of(report.processes[*report.lead])) {
      report.lead = i;
    }
  }
  if (!read_one && report.undecided.empty()) {
    report.undecided = "not a single process could be read";
  } else if (!judged_one && unread != 0 && report.undecided.empty()) {
    // A monitor without rights must not be content with a node of which it saw its own shell.
    report.undecided = "nothing of CUDA was seen, and " + std::to_string(unread) +
                       (unread == 1 ? " process" : " processes") + " could not be read";
  }
  if (report.end == RunEnd::findings) {
    report.undecided.clear();
  } else if (!report.undecided.empty()) {
    report.end = RunEnd::undecided;
  } else if (report.worst >= Severity::warning) {
    report.end = RunEnd::warned;
  }
  report.exit_code = exit_code_of(report.end, report.exit_style);
}

std::vector<std::size_t> depths(const std::vector<NodeProcess>& processes) {
  std::map<std::int64_t, std::size_t> by_pid;
  std::vector<std::size_t> out;
  for (const NodeProcess& process : processes) {
    // Parents stand first: whose parent is not there is the root.
    const auto parent = by_pid.find(process.facts.parent_pid);
    out.push_back(out.empty() || parent == by_pid.end() ? 0 : parent->second + 1);
    by_pid[process.facts.pid] = out.back();
  }
  return out;
}

std::vector<std::size_t> count_states(const std::vector<NodeProcess>& processes) {
  std::vector<std::size_t> out(kProcessStates, 0);
  for (const NodeProcess& process : processes) ++out[static_cast<std::size_t>(process.state)];
  return out;
}

}  // namespace cudart_doctor
