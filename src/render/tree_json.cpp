// The document of `tree --json` and `--all --json`; docs/tree.md describes it.
#include <algorithm>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/render/tree.hpp"
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"
#include "render/redact.hpp"
#include "render/tree_words.hpp"

namespace cudart_doctor {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json severity_or_null(const std::optional<Severity>& severity) {
  return severity ? Json(name_of(*severity)) : Json(nullptr);
}

Json letter_or_null(std::optional<std::size_t> group) {
  return group ? Json(group_letter(group)) : Json(nullptr);
}

void put_title(Json& out, const ProcessFacts& facts) {
  out["comm"] = json_bytes(facts.comm);
  if (const auto* const words = facts.command_line.get()) {
    put_known(out, "command_line", json_bytes_list(redact_arguments(*words)));
  } else {
    put_unknown(out, "command_line", facts.command_line.reason());
  }
}

void put_user(Json& out, const ProcessFacts& facts) {
  if (facts.uid) {
    put_known(out, "uid", *facts.uid);
  } else {
    put_unknown(out, "uid", "not read");
  }
  const auto* const cgroup = facts.rights.cgroup.get();
  const std::string container = cgroup == nullptr ? std::string() : container_of(*cgroup);
  out["container"] = container.empty() ? Json(nullptr) : Json(container);
}

Json verdict_json(const ProcessVerdict& verdict) {
  Json out;
  out["state"] = name_of(verdict.end);
  out["worst"] = severity_or_null(verdict.worst);
  out["undecided"] = json_sentence_or_null(verdict.undecided);
  out["sentence"] = json_sentence(verdict.sentence);
  out["findings"] = Json::array();
  for (const FindingTag& tag : verdict.findings) {
    out["findings"].push_back({{"id", json_bytes(tag.id)},
                               {"severity", name_of(tag.severity)},
                               {"owner", name_of(tag.owner)}});
  }
  out["allowed"] = Json::array();
  for (const AllowedTag& tag : verdict.allowed) {
    out["allowed"].push_back({{"id", json_bytes(tag.id)},
                              {"severity", name_of(tag.severity)},
                              {"by", json_sentence(tag.by)}});
  }
  out["runtimes"] = verdict.runtimes;
  out["consumers"] = json_sentence_list(verdict.consumers);
  out["unread"] = json_sentence_list(verdict.blind);
  return out;
}

Json process_json(const NodeProcess& process) {
  Json out;
  out["pid"] = process.facts.pid;
  out["parent_pid"] = process.facts.parent_pid;
  out["start_ticks"] = process.facts.start_ticks;
  out["inner_pid"] = or_null(inner_pid(process.facts));
  out["title"] = tree_title(process.facts);
  put_title(out, process.facts);
  put_user(out, process.facts);
  out["state"] = name_of(process.state);
  const bool has_reason =
      process.state == ProcessState::unread || process.state == ProcessState::unjudged;
  out["reason"] = has_reason ? Json(name_of(process.reason)) : Json(nullptr);
  out["note"] = json_sentence_or_null(process.note);
  out["gpus"] = json_bytes_list(process.gpus);
  out["group"] = letter_or_null(process.group);
  out["judged_as"] = process.judged_as == 0 ? Json(nullptr) : Json(process.judged_as);
  out["verdict"] = process.verdict ? verdict_json(*process.verdict) : Json(nullptr);
  return out;
}

Json pids_json(const TreeReport& report, const std::vector<std::size_t>& members) {
  Json out = Json::array();
  for (const std::size_t member : members) out.push_back(report.processes[member].facts.pid);
  return out;
}

Json group_json(const TreeReport& report, std::size_t index) {
  const AlikeProcesses& group = report.groups[index];
  Json out;
  out["group"] = group_letter(index);
  out["fingerprint"] = group.fingerprint;
  out["pids"] = pids_json(report, group.members);
  out["worst"] = json_sentence_or_null(group.digest.worst);
  out["undecided"] = group.digest.undecided;
  out["sentence"] = json_sentence(group.digest.sentence);
  return out;
}

Json ranks_json(const TreeReport& report, const RankSet& set) {
  Json out;
  out["pids"] = pids_json(report, set.members);
  out["majority"] = letter_or_null(set.majority);
  out["odd"] = Json::array();
  for (const OddRanks& odd : set.odd) {
    Json each;
    each["group"] = group_letter(odd.group);
    each["pids"] = pids_json(report, odd.members);
    each["sentence"] = odd_words(report, set, odd);
    each["changes"] = json_changes(odd.changes);
    out["odd"].push_back(std::move(each));
  }
  out["without"] = pids_json(report, set.without);
  return out;
}

Json lead_json(const TreeReport& report) {
  Json out;
  out["pid"] = report.lead ? Json(report.processes[*report.lead].facts.pid) : Json(nullptr);
  out["sentence"] = tree_sentence(report);
  out["finding"] = nullptr;
  if (!leads_with_finding(report)) return out;
  const Finding& finding = report.processes[*report.lead].verdict->lead;
  Json part;
  part["id"] = json_bytes(finding.id);
  part["slug"] = json_bytes(finding.slug);
  part["severity"] = name_of(finding.severity);
  part["owner"] = name_of(finding.owner);
  part["effect"] = json_sentence_or_null(finding.effect);
  part["fixes"] = json_sentence_list(finding.fixes);
  part["no_help"] = json_sentence_list(finding.no_help);
  out["finding"] = std::move(part);
  return out;
}

/// Of a node, those that there is something to say of.
bool is_listed(const TreeReport& report, const NodeProcess& process) {
  return report.scope == TreeScope::tree || process.state == ProcessState::judged ||
         process.state == ProcessState::unjudged || process.state == ProcessState::unread;
}

}  // namespace

std::string render_tree_json(const TreeReport& report) {
  Json out;
  out["schema_version"] = 1;
  out["kind"] = name_of(report.scope);
  out["tool"]["name"] = "cudart-doctor";
  out["tool"]["version"] = CUDART_DOCTOR_VERSION;
  out["generated_at"] = report.taken_at;
  out["host"] = json_bytes_or_null(report.host);
  out["root"] = report.scope == TreeScope::tree ? Json(report.root) : Json(nullptr);
  Json verdict;
  verdict["exit_code"] = report.exit_code;
  verdict["exit_style"] = name_of(report.exit_style);
  verdict["state"] = name_of(report.end);
  verdict["worst"] = severity_or_null(report.worst);
  verdict["fail_on"] = name_of(report.fail_on);
  verdict["undecided"] = json_sentence_or_null(report.undecided);
  out["verdict"] = std::move(verdict);
  out["headline"] = lead_json(report);
  const auto counts = count_states(report.processes);
  out["counts"]["processes"] = report.processes.size();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out["counts"][std::string(name_of(static_cast<ProcessState>(i)))] = counts[i];
  }
  out["processes"] = Json::array();
  for (const NodeProcess& process : report.processes) {
    if (is_listed(report, process)) out["processes"].push_back(process_json(process));
  }
  out["groups"] = Json::array();
  for (std::size_t i = 0; i < report.groups.size(); ++i) {
    out["groups"].push_back(group_json(report, i));
  }
  out["ranks"] = Json::array();
  for (const RankSet& set : report.ranks) out["ranks"].push_back(ranks_json(report, set));
  out["notes"] = json_sentence_list(report.notes);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cudart_doctor
