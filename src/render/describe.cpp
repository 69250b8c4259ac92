// Derived facts. Where the model leaves something open, the result says so and never "ok".
#include "render/describe.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/names.hpp"
#include "render/redact.hpp"
#include "render/run_phrases.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

std::string letters(std::size_t number) {
  std::string out;
  for (std::size_t rest = number + 1; rest > 0; rest = (rest - 1) / 26) {
    out.insert(out.begin(), static_cast<char>('A' + (rest - 1) % 26));
  }
  return out;
}

const Consumer* find_consumer(const Report& report, std::string_view id) {
  const auto found = std::find_if(report.consumers.begin(), report.consumers.end(),
                                  [&](const Consumer& consumer) { return consumer.id == id; });
  return found == report.consumers.end() ? nullptr : &*found;
}

std::string nothing_found_sentence(const Report& report) {
  // "Could not read" is never "not there".
  const CaptureFacts& capture = report.snapshot.capture;
  const bool all_read = capture.objects_read != 0 && capture.unread.empty();
  if (report.candidates.empty()) {
    return all_read ? "No CUDA runtime was found, under any name: nothing is mapped or installed."
                    : "No CUDA runtime was found in what could be read.";
  }
  return "No finding; which runtime would be taken is not decided by any rule here.";
}

/// "takes A, libcudart 12.8: it opens and has every function that is asked for"
std::string answer_phrase(const Report& report, const Selection& selection) {
  const auto index = candidate_of(report, selection);
  if (!index) {
    return selection.outcome == Outcome::selected
               ? "takes " + escape_foreign(base_name(selection.chosen_text))
               : std::string("takes no runtime");
  }
  const Candidate& candidate = report.candidates[*index];
  const std::string out =
      "takes " + candidate_refs(report)[*index] + ", " + candidate_phrase(candidate);
  switch (result_of(selection)) {
    case AnswerResult::ok:
      return out + (selection.bound == 0 ? ": it opens"
                                         : ": it opens and has every function that is asked for");
    case AnswerResult::unproven: return out + "; whether it is complete could not be seen";
    case AnswerResult::fails: return out + ", and fails";
    case AnswerResult::nothing: return out;
  }
  return out;
}

}  // namespace

std::vector<std::string> candidate_refs(const Report& report) {
  std::vector<std::string> refs;
  std::size_t selectable = 0;
  std::size_t copies = 0;
  for (const Candidate& candidate : report.candidates) {
    if (candidate.kind == RuntimeKind::static_copy) {
      refs.push_back("S" + std::to_string(++copies));
    } else {
      refs.push_back(letters(selectable++));
    }
  }
  return refs;
}

const LoadedObject* object_of(const Report& report, std::optional<std::size_t> index) {
  if (!index || *index >= report.snapshot.objects.size()) return nullptr;
  return &report.snapshot.objects[*index];
}

namespace {

/// Whether two paths lead to one file, as far as the snapshot tells: the loader's texts are links.
bool is_same_file(const Snapshot& snapshot, const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto one = snapshot.disk.find(a);
  const auto other = snapshot.disk.find(b);
  const bool both = one != snapshot.disk.end() && other != snapshot.disk.end();
  if (both && one->second.key.is_file() && one->second.key == other->second.key) return true;
  return (one != snapshot.disk.end() && one->second.real_path == b) ||
         (other != snapshot.disk.end() && other->second.real_path == a);
}

}  // namespace

std::optional<std::size_t> candidate_of(const Report& report, const Selection& selection) {
  // What would be mapped anew is the file, though the mapped object stays named beside it.
  const bool from_disk =
      selection.disk_path && (!selection.object || selection.open == OpenOutcome::new_object ||
                              selection.open == OpenOutcome::loads);
  std::optional<std::size_t> mapped;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (candidate.kind == RuntimeKind::static_copy) continue;
    if (candidate.object) {
      if (selection.object && candidate.object == selection.object && !mapped) mapped = i;
    } else if (from_disk && is_same_file(report.snapshot, candidate.path, *selection.disk_path)) {
      return i;
    }
  }
  return mapped;
}

std::optional<std::int64_t> inner_pid(const ProcessFacts& process) {
  if (process.ns_pids.empty()) return std::nullopt;
  return process.ns_pids.back();
}

ProcessGpus gpus_of(const Snapshot& snapshot) {
  ProcessGpus gpus;
  const auto add = [&](const std::string& uuid) {
    const bool known = std::find(gpus.uuids.begin(), gpus.uuids.end(), uuid) != gpus.uuids.end();
    if (!uuid.empty() && !known) gpus.uuids.push_back(uuid);
  };
  const std::int64_t pid = snapshot.process.pid;
  for (const CardUse& card : snapshot.probe.gate.cards) {
    if (std::find(card.users.begin(), card.users.end(), pid) != card.users.end()) add(card.uuid);
  }
  gpus.from = "in use by it";
  if (!gpus.uuids.empty()) return gpus;
  for (const ProbeDevice& device : snapshot.probe.devices) add(device.uuid);
  gpus.from = "visible to it";
  if (!gpus.uuids.empty()) return gpus;
  const Environment* environment = snapshot.environment.get();
  const std::string* visible =
      environment == nullptr ? nullptr : environment->find("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) {
    // Numbers tell which only together with the driver's order.
    for (const std::string_view part : split(*visible, ',')) {
      const std::string_view name = trim(part);
      if (name.starts_with("GPU-") || name.starts_with("MIG-")) add(std::string(name));
    }
  }
  gpus.from = gpus.uuids.empty() ? std::string_view() : std::string_view("CUDA_VISIBLE_DEVICES");
  return gpus;
}

std::string process_title(const ProcessFacts& process) {
  const auto* command_line = process.command_line.get();
  if (command_line == nullptr || command_line->empty()) return escape_foreign(process.comm);
  std::vector<std::string> words = redact_arguments(*command_line);
  std::string title(trim(join(words, " ")));
  // An absolute path in front tells less than the program's name.
  if (title.starts_with('/')) {
    title.erase(0, title.substr(0, title.find(' ')).rfind('/') + 1);
  }
  return escape_foreign(title);
}

std::string_view name_of(AnswerResult value) {
  switch (value) {
    case AnswerResult::ok: return "ok";
    case AnswerResult::fails: return "fails";
    case AnswerResult::unproven: return "unproven";
    case AnswerResult::nothing: return "nothing";
  }
  return {};
}

AnswerResult result_of(const Selection& selection) {
  if (!selection.error_text.empty() || !selection.missing.empty() ||
      selection.open == OpenOutcome::fails) {
    return AnswerResult::fails;
  }
  switch (selection.outcome) {
    case Outcome::unexpected_filename:
    case Outcome::no_path:
    case Outcome::multiple:
    case Outcome::aborts: return AnswerResult::fails;
    case Outcome::none:
    case Outcome::not_found:
    case Outcome::not_applicable: return AnswerResult::nothing;
    case Outcome::undetermined: return AnswerResult::unproven;
    case Outcome::selected: break;
  }
  const bool opens = selection.open == OpenOutcome::old_object ||
                     selection.open == OpenOutcome::new_object ||
                     selection.open == OpenOutcome::loads;
  // A rule that binds by need (bound 0) is content with a library that opens.
  const bool complete = selection.missing_known || selection.bound == 0;
  return opens && complete ? AnswerResult::ok : AnswerResult::unproven;
}

const Selection* headline_selection(const Report& report) {
  const auto found = std::find_if(
      report.selections.begin(), report.selections.end(),
      [&](const Selection& selection) { return selection.policy == report.headline_policy; });
  return found == report.selections.end() ? nullptr : &*found;
}

std::string selection_title(const Report& report, const Selection& selection) {
  const Consumer* consumer = find_consumer(report, selection.consumer);
  if (consumer != nullptr && consumer->vintage == selection.policy && !consumer->version.empty()) {
    return printable(consumer->name + " " + consumer->version);
  }
  return printable(selection.title.empty() ? selection.policy : selection.title);
}

std::string headline_sentence(const Report& report) {
  if (report.verdict.end == RunEnd::undecided) {
    return printable("Could not decide: " + report.verdict.undecided);
  }
  if (nobody_judged(report.snapshot)) return nobody_sentence(*report.snapshot.recording.get());
  if (leads_with_finding(report)) return printable(report.findings.front().headline);
  const Selection* selection = headline_selection(report);
  const bool any_loaded = std::any_of(report.candidates.begin(), report.candidates.end(),
                                      [](const Candidate& c) { return c.loaded; });
  const bool consumed = selection != nullptr && selection->presence == Presence::present;
  const std::uint32_t below = unseen_children(report.snapshot);
  if (!any_loaded && !consumed && below != 0 && report.snapshot.capture.unread.empty()) {
    return "No CUDA runtime is mapped here; " + count_of(below, "process", "processes") +
           " below not looked at.";
  }
  if (selection == nullptr || report.candidates.empty()) return nothing_found_sentence(report);
  if (!any_loaded && !consumed) {
    return "No CUDA runtime is mapped, and no consumer that picks one was found.";
  }
  const Consumer* consumer = find_consumer(report, selection->consumer);
  std::string who = selection_title(report, *selection);
  if (selection->current && consumer != nullptr && consumer->vintage != selection->policy) {
    who = printable(consumer->name) + "'s current rule";
  }
  // A consumer that is there speaks for itself; what is assumed must be said.
  const bool told = selection->presence == Presence::present &&
                    who.find(' ') != std::string::npos && consumer != nullptr &&
                    consumer->vintage == selection->policy;
  if (!told && !report.headline_note.empty()) who += " (" + printable(report.headline_note) + ")";
  return who + " " + answer_phrase(report, *selection) + ".";
}

bool leads_with_finding(const Report& report) {
  if (report.verdict.end == RunEnd::undecided || report.findings.empty()) return false;
  // The allowed ones come last.
  if (!report.findings.front().allowed.empty()) return false;
  const Severity severity = report.findings.front().severity;
  return severity != Severity::info || severity >= report.verdict.fail_on;
}

std::size_t count_counted(const Report& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.findings, [](const Finding& finding) { return finding.allowed.empty(); }));
}

std::string severity_count(std::uint64_t count, Severity severity) {
  const bool countable = severity == Severity::error || severity == Severity::warning;
  return countable ? count_of(count, name_of(severity))
                   : count_of(count, name_of(severity), name_of(severity));
}

std::vector<std::string> finding_counts(const Report& report) {
  constexpr std::array kOrder = {Severity::critical, Severity::error, Severity::warning,
                                 Severity::info};
  std::vector<std::string> counts;
  for (const Severity severity : kOrder) {
    const auto count = static_cast<std::uint64_t>(
        std::ranges::count_if(report.findings, [severity](const Finding& finding) {
          return finding.severity == severity && finding.allowed.empty();
        }));
    if (count == 0) continue;
    counts.push_back(severity_count(count, severity));
  }
  const std::size_t allowed = report.findings.size() - count_counted(report);
  if (allowed > 0) counts.push_back(count_of(allowed, "allowed", "allowed"));
  return counts;
}

std::string candidate_phrase(const Candidate& candidate) {
  const std::string version =
      candidate.version.empty() ? std::string() : " " + printable(candidate.version);
  switch (candidate.kind) {
    case RuntimeKind::genuine: return "libcudart" + version;
    case RuntimeKind::stub: return "a stub";
    case RuntimeKind::shim: return "a shim";
    case RuntimeKind::stand_in: return "a stand-in";
    case RuntimeKind::static_copy: return "a static copy" + version;
    case RuntimeKind::not_a_runtime: return "a file that only has the name";
    case RuntimeKind::undetermined: return "a library of unknown kind";
  }
  return {};
}

}  // namespace cudart_doctor
