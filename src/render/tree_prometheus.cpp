// Counts over many processes. The names of a report of one process keep their meaning: what counts
// processes has a name of its own.
#include <map>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/render/tree.hpp"
#include "render/names.hpp"
#include "render/prometheus_gauge.hpp"
#include "render/tree_words.hpp"

namespace cudart_doctor {
namespace {

std::string process_counts(const TreeReport& report) {
  Gauge gauge("processes", "Processes that were looked at, by what became of the look.");
  const auto counts = count_states(report.processes);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    gauge.add({{"state", std::string(name_of(static_cast<ProcessState>(i)))}}, counts[i]);
  }
  return gauge.text();
}

std::string unread_counts(const TreeReport& report) {
  Gauge gauge("unread_processes", "Processes that could not be read or judged, by reason.");
  std::map<std::string_view, std::uint64_t> counts;
  for (const NodeProcess& process : report.processes) {
    const bool open =
        process.state == ProcessState::unread || process.state == ProcessState::unjudged;
    if (open) ++counts[name_of(process.reason)];
  }
  for (const auto& [reason, count] : counts) gauge.add({{"reason", std::string(reason)}}, count);
  return gauge.text();
}

std::string verdict_counts(const TreeReport& report) {
  Gauge gauge("process_verdicts", "Processes with CUDA, by what was concluded of each.");
  std::map<RunEnd, std::uint64_t> counts = {
      {RunEnd::ok, 0}, {RunEnd::warned, 0}, {RunEnd::findings, 0}, {RunEnd::undecided, 0}};
  for (const NodeProcess& process : report.processes) {
    if (process.verdict) ++counts[process.verdict->end];
  }
  for (const auto& [end, count] : counts) gauge.add({{"state", std::string(name_of(end))}}, count);
  return gauge.text();
}

std::string finding_counts(const TreeReport& report) {
  Gauge gauge("finding_processes", "Processes with a finding that counts, by code and severity.");
  // Without the owner, which is no label.
  using Label = std::pair<std::string, Severity>;
  std::map<Label, std::uint64_t> counts;
  for (const NodeProcess& process : report.processes) {
    if (!process.verdict) continue;
    std::set<Label> once;
    for (const FindingTag& tag : process.verdict->findings) once.emplace(tag.id, tag.severity);
    for (const Label& label : once) ++counts[label];
  }
  for (const auto& [label, count] : counts) {
    gauge.add({{"code", label.first}, {"severity", std::string(name_of(label.second))}}, count);
  }
  return gauge.text();
}

std::string group_counts(const TreeReport& report) {
  Gauge groups("process_groups", "Different ones among the processes with CUDA.");
  groups.add({}, report.groups.size());
  if (report.scope != TreeScope::tree) return groups.text();
  Gauge odd("odd_ranks", "Ranks that are not as most of their kind.");
  std::uint64_t count = 0;
  for (const RankSet& set : report.ranks) count += count_odd(set);
  odd.add({}, count);
  return groups.text() + odd.text();
}

}  // namespace

std::string render_tree_prometheus(const TreeReport& report) {
  return build_info_gauge() + last_run_gauge(report.taken_at) + verdict_gauge(report.end) +
         process_counts(report) + verdict_counts(report) + unread_counts(report) +
         finding_counts(report) + group_counts(report);
}

}  // namespace cudart_doctor
