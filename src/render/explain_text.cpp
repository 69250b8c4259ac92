// `explain` for a terminal: what it is, its causes, what to do; with a report what stands there.
#include <algorithm>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/explain.hpp"
#include "render/describe.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kSlugColumns = 28;
constexpr std::size_t kMaxTextLines = 3;  // Of a log's line, unless verbose.

std::string_view owner_text(Owner owner) {
  switch (owner) {
    case Owner::node: return "node (driver, kernel, mounts): draining it may be right";
    case Owner::image: return "image (packages): do not drain the node";
    case Owner::user: return "user (variables, launch options): do not drain the node";
  }
  return {};
}

std::string standing_text(std::string_view finding, const Report& report) {
  const Standing standing = standing_of(finding, report);
  switch (standing.kind) {
    case StandingKind::confirmed:
      return "confirmed here: " + std::string(finding) + " stands, " + printable(standing.reason);
    case StandingKind::noted: return "noted here only, " + printable(standing.reason);
    case StandingKind::not_found: return "not found here";
    case StandingKind::unseen: return "could not be seen here: " + printable(standing.reason);
    case StandingKind::unchecked: return "not checked here: " + printable(standing.reason);
  }
  return {};
}

std::string cause_text(const Cause& cause) {
  const CatalogueEntry* entry = find_entry(cause.finding);
  if (entry == nullptr) return std::string(cause.text);
  return std::string(entry->id) + " " + std::string(entry->slug) + ": " + std::string(cause.text);
}

void write_causes(TextWriter& writer, const Causes& causes, const Report* report) {
  int number = 0;
  for (const Cause& cause : causes) {
    if (cause.text.empty()) continue;
    const std::string lead = pad(number == 0 ? "CAUSES" : "", kTextColumn);
    writer.entry({.before = lead + std::to_string(++number) + " ", .hang = kTextColumn + 2},
                 cause_text(cause));
    if (report == nullptr) continue;
    const bool stands = standing_of(cause.finding, *report).kind == StandingKind::confirmed;
    writer.entry({.before = std::string(kTextColumn + 2, ' '),
                  .word = stands ? "=> " : "-> ",
                  .tone = stands ? Tone::bad : Tone::plain,
                  .hang = kTextColumn + 5},
                 standing_text(cause.finding, *report));
  }
}

std::string target_text(const Snapshot& snapshot) {
  if (snapshot.environment_only) return "this environment";
  if (nobody_judged(snapshot)) return "command " + command_title(*snapshot.recording.get());
  return "pid " + std::to_string(snapshot.process.pid) + " " + process_title(snapshot.process);
}

void write_target(TextWriter& writer, const Report* report) {
  if (report == nullptr) return;
  const Snapshot& snapshot = report->snapshot;
  writer.labelled("LOOKED", "at " + target_text(snapshot), 2);
}

/// "libcudart_stub.so ... undefined symbol: cuda": the telling parts, as they are matched.
std::string pattern_text(std::string_view pattern) {
  std::string out;
  for (const char letter : pattern) {
    if (letter == '*') {
      out += " ... ";
    } else if (letter != '|') {
      out += letter;
    }
  }
  return out;
}

/// "warning/critical" for "warning; critical if a rule selects it".
std::string severity_words(std::string_view severities) {
  std::string out;
  for (const std::string_view part : split(severities, ';')) {
    const std::string_view text = trim(part);
    out.append(out.empty() ? "" : "/").append(text.substr(0, text.find(' ')));
  }
  return out;
}

std::string_view first_sentence(std::string_view text) {
  const std::size_t end = text.find(". ");
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

void write_page(TextWriter& writer, const FindingsPage& /*page*/, const Report* /*report*/) {
  for (const CatalogueEntry& entry : catalogue()) {
    writer.entry(
        {.before = std::string(entry.id) + "  " + pad(entry.slug, kSlugColumns) + "  ", .hang = 6},
        severity_words(entry.severities));
    writer.entry({.before = std::string(6, ' '), .hang = 6}, first_sentence(entry.meaning));
  }
  writer.blank();
  writer.title("More: cudart-doctor explain ID; of an error text: cudart-doctor explain -");
}

void write_page(TextWriter& writer, const FindingPage& page, const Report* report) {
  const CatalogueEntry& entry = *page.entry;
  writer.title(std::string(entry.id) + " " + std::string(entry.slug));
  writer.labelled("RAISED", entry.when);
  writer.labelled("EFFECT", entry.meaning);
  writer.labelled("SEVERITY", entry.severities);
  writer.labelled("OWNER", owner_text(entry.owner));
  writer.labelled("FIX", entry.remedy);
  if (report != nullptr) {
    writer.labelled("HERE", standing_text(entry.id, *report));
    write_target(writer, report);
  }
  std::string_view label = "TEXTS";
  for (const Signature* signature : signatures_of(entry.id)) {
    writer.labelled(label, pattern_text(signature->patterns.front()));
    label = {};
  }
  label = "CODES";
  for (const int code : codes_of(entry.id)) {
    writer.labelled(label, std::to_string(code) + " " + std::string(cuda_runtime_code_name(code)));
    label = {};
  }
}

/// "201 cudaErrorDeviceUninitialized, CUDA_ERROR_INVALID_CONTEXT"
std::string code_title(int code) {
  std::string out = std::to_string(code);
  std::string_view separator = " ";
  for (const std::string_view name : {cuda_runtime_code_name(code), cuda_driver_code_name(code)}) {
    if (name.empty()) continue;
    out.append(separator).append(name);
    separator = ", ";
  }
  return out;
}

void write_title(TextWriter& writer, std::string_view title) {
  writer.entry({.hang = kTextColumn}, title);
}

void write_page(TextWriter& writer, const CodePage& page, const Report* report) {
  write_title(writer, code_title(page.code));
  const CodeEntry* entry = find_code_entry(page.code);
  if (entry == nullptr) {
    writer.labelled("CAUSES",
                    "none that has to do with which runtime or driver is in use: look "
                    "at the call that returned it.");
    return;
  }
  writer.labelled("TEXT", entry->text);
  write_target(writer, report);
  write_causes(writer, entry->causes, report);
  writer.labelled("CHECK",
                  "which call returned it, and on which side: the code alone does not "
                  "tell the causes apart.");
}

void write_symptom(TextWriter& writer, const Symptom& symptom, const Report* report) {
  writer.blank();
  const std::string times =
      count_of(symptom.count, "line") + ", the first is " + std::to_string(symptom.first_line);
  const std::string title = symptom.signature != nullptr ? std::string(symptom.signature->id)
                                                         : code_title(symptom.code->code);
  write_title(writer, title);
  writer.labelled("FOUND", "in " + times + ":");
  writer.entry({.before = std::string(kTextColumn, ' ')}, escape_foreign(trim(symptom.text)),
               kMaxTextLines);
  if (symptom.signature == nullptr) {
    write_causes(writer, symptom.code->causes, report);
    if (report == nullptr) writer.labelled("CONFIRM", "cudart-doctor --pid PID --probe on");
    return;
  }
  const Signature& signature = *symptom.signature;
  writer.labelled("MEANS", signature.meaning);
  writer.labelled("FROM", signature.printed_by);
  if (!signature.versions.empty()) writer.labelled("VERSIONS", signature.versions);
  write_causes(writer, signature.causes, report);
  writer.labelled("CHECK", signature.check);
  if (report == nullptr) writer.labelled("CONFIRM", signature.command);
  if (!signature.seen.empty()) writer.labelled("SEEN IN", signature.seen);
}

void write_page(TextWriter& writer, const LogPage& page, const Report* report) {
  const LogAnswer& answer = page.answer;
  const std::string where = " in " + count_of(answer.lines, "line");
  if (answer.symptoms.empty()) {
    writer.title("no known symptom" + where);
  } else {
    writer.title(count_of(answer.symptoms.size(), "known symptom") + where);
  }
  write_target(writer, report);
  if (page.cut) {
    writer.labelled("NOTE", "only the first " + std::to_string(answer.bytes >> 30U) +
                                " GiB were read; for the end of a log: tail -c 1G LOG | ...");
  }
  for (const Symptom& symptom : answer.symptoms) write_symptom(writer, symptom, report);
}

}  // namespace

std::string render_explain_text(const Explanation& explanation, const TextOptions& options) {
  TextWriter writer(options);
  std::visit([&](const auto& page) { write_page(writer, page, explanation.report); },
             explanation.page);
  return writer.take();
}

}  // namespace cudart_doctor
