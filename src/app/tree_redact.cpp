#include "tree_redact.hpp"

#include <functional>
#include <utility>

#include "cudart_doctor/collect/anonymize.hpp"

namespace cudart_doctor {
namespace {

using TextUse = std::function<void(std::string& text)>;

void for_each_text(std::vector<std::string>& texts, const TextUse& use) {
  for (std::string& text : texts) use(text);
}

void for_each_text(Finding& finding, const TextUse& use) {
  use(finding.headline);
  use(finding.effect);
  for_each_text(finding.evidence, use);
  for_each_text(finding.fixes, use);
  for_each_text(finding.no_help, use);
  use(finding.consumer);
}

void for_each_text(ReportDigest& digest, const TextUse& use) {
  use(digest.title);
  use(digest.sentence);
  for (Trait& trait : digest.traits) {
    use(trait.title);
    for (Attribute& attribute : trait.attributes) use(attribute.value);
  }
  for (UnreadArea& gap : digest.unread) use(gap.reason);
  for_each_text(digest.order_titles, use);
  for_each_text(digest.blind, use);
}

void for_each_text(Change& change, const TextUse& use) {
  use(change.subject);
  if (change.before) use(change.before->value);
  if (change.after) use(change.after->value);
}

/// All but the facts of processes and the host's name, which have fields of their own.
void for_each_text(TreeReport& report, const TextUse& use) {
  for (NodeProcess& process : report.processes) {
    use(process.note);
    for_each_text(process.gpus, use);
    if (!process.verdict) continue;
    use(process.verdict->undecided);
    use(process.verdict->sentence);
    for_each_text(process.verdict->lead, use);
    for (AllowedTag& allowed : process.verdict->allowed) use(allowed.by);
    for_each_text(process.verdict->ended, use);
    for_each_text(process.verdict->consumers, use);
    for_each_text(process.verdict->blind, use);
  }
  for (AlikeProcesses& group : report.groups) for_each_text(group.digest, use);
  for (RankSet& set : report.ranks) {
    for (OddRanks& odd : set.odd) {
      for (Change& change : odd.changes) for_each_text(change, use);
    }
  }
  for_each_text(report.notes, use);
  use(report.undecided);
}

Snapshot of_facts(const NodeProcess& process, const std::string& host) {
  Snapshot out;
  out.process = process.facts;
  out.host.name = host;
  return out;
}

}  // namespace

TreeReport without_names(ManySeen seen) {
  TreeReport& report = seen.report;
  Anonymizer names;
  for (Snapshot& each : seen.naming) names.learn(std::move(each));
  for (const NodeProcess& process : report.processes) names.learn(of_facts(process, report.host));
  for_each_text(report, [&](std::string& text) { names.learn(text); });

  const std::string host = report.host;
  for (NodeProcess& process : report.processes) {
    Snapshot hidden = names.replaced(of_facts(process, host));
    process.facts = std::move(hidden.process);
    report.host = std::move(hidden.host.name);
  }
  for_each_text(report, [&](std::string& text) { text = names.replaced(text); });
  return std::move(report);
}

}  // namespace cudart_doctor
