// `explain --json`: a small document of its own; docs/explain.md describes it.
#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/explain.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

std::string_view name_of(StandingKind kind) {
  switch (kind) {
    case StandingKind::confirmed: return "confirmed";
    case StandingKind::noted: return "noted";
    case StandingKind::not_found: return "not_found";
    case StandingKind::unseen: return "unseen";
    case StandingKind::unchecked: return "unchecked";
  }
  return {};
}

/// null where nothing was inspected.
Json standing_json(std::string_view finding, const Report* report) {
  if (report == nullptr) return nullptr;
  const Standing standing = standing_of(finding, *report);
  Json out;
  out["state"] = name_of(standing.kind);
  out["reason"] = json_sentence_or_null(standing.reason);
  return out;
}

Json causes_json(const Causes& causes, const Report* report) {
  Json list = Json::array();
  for (const Cause& cause : causes) {
    if (cause.text.empty()) continue;
    Json row;
    row["cause"] = cause.text;
    row["finding"] = find_entry(cause.finding) == nullptr ? Json(nullptr) : Json(cause.finding);
    row["here"] = standing_json(cause.finding, report);
    list.push_back(std::move(row));
  }
  return list;
}

Json entry_json(const CatalogueEntry& entry) {
  Json row;
  row["id"] = entry.id;
  row["slug"] = entry.slug;
  row["severity"] = entry.severities;
  row["owner"] = cudart_doctor::name_of(entry.owner);
  row["when"] = entry.when;
  row["meaning"] = entry.meaning;
  row["remedy"] = entry.remedy;
  row["symptoms"] = Json::array();
  for (const Signature* signature : signatures_of(entry.id)) {
    row["symptoms"].push_back(signature->id);
  }
  row["codes"] = codes_of(entry.id);
  return row;
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

void put_code(Json& row, int code) {
  row["code"] = code;
  row["runtime_name"] = text_or_null(cuda_runtime_code_name(code));
  row["driver_name"] = text_or_null(cuda_driver_code_name(code));
}

Json symptom_json(const Symptom& symptom, const Report* report) {
  const Signature* signature = symptom.signature;
  Json row;
  row["symptom"] = signature == nullptr ? Json(nullptr) : Json(signature->id);
  if (signature == nullptr) {
    put_code(row, symptom.code->code);
  } else {
    row["code"] = nullptr;
  }
  row["count"] = symptom.count;
  row["first_line"] = symptom.first_line;
  row["text"] = json_bytes(symptom.text);
  if (signature == nullptr) {
    row["causes"] = causes_json(symptom.code->causes, report);
    return row;
  }
  row["meaning"] = signature->meaning;
  row["printed_by"] = signature->printed_by;
  row["versions"] = text_or_null(signature->versions);
  row["causes"] = causes_json(signature->causes, report);
  row["check"] = signature->check;
  row["command"] = signature->command;
  row["seen_in"] = Json::array();
  for (const std::string_view place : split(signature->seen, ' ')) {
    if (!place.empty()) row["seen_in"].push_back(place);
  }
  return row;
}

void put_page(Json& out, const FindingsPage& /*page*/, const Report* /*report*/) {
  out["kind"] = "findings";
  out["findings"] = Json::array();
  for (const CatalogueEntry& entry : catalogue()) out["findings"].push_back(entry_json(entry));
}

void put_page(Json& out, const FindingPage& page, const Report* report) {
  out["kind"] = "finding";
  out["finding"] = entry_json(*page.entry);
  out["finding"]["here"] = standing_json(page.entry->id, report);
}

void put_page(Json& out, const CodePage& page, const Report* report) {
  const CodeEntry* entry = find_code_entry(page.code);
  out["kind"] = "code";
  put_code(out["code"], page.code);
  out["code"]["text"] = entry == nullptr ? Json(nullptr) : Json(entry->text);
  out["code"]["causes"] = causes_json(entry == nullptr ? Causes{} : entry->causes, report);
}

void put_page(Json& out, const LogPage& page, const Report* report) {
  out["kind"] = "log";
  out["log"]["bytes"] = page.answer.bytes;
  out["log"]["lines"] = page.answer.lines;
  out["log"]["cut"] = page.cut;
  out["log"]["symptoms"] = Json::array();
  for (const Symptom& symptom : page.answer.symptoms) {
    out["log"]["symptoms"].push_back(symptom_json(symptom, report));
  }
}

}  // namespace

std::string render_explain_json(const Explanation& explanation) {
  Json out;
  out["schema_version"] = 1;
  std::visit([&](const auto& page) { put_page(out, page, explanation.report); }, explanation.page);
  out["looked_at_pid"] = nullptr;
  const Report* report = explanation.report;
  if (report != nullptr && !report->snapshot.environment_only && !nobody_judged(report->snapshot)) {
    out["looked_at_pid"] = report->snapshot.process.pid;
  }
  out["exit_code"] = explanation.exit_code;
  return out.dump(2) + "\n";
}

}  // namespace cudart_doctor
