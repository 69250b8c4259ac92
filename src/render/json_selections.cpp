// consumers and selections of the JSON report: who would take what, and every step to it.
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

Json steps_part(const std::vector<Step>& steps) {
  Json list = Json::array();
  for (const Step& step : steps) {
    Json out;
    out["subject"] = json_bytes(step.subject);
    out["verdict"] = name_of(step.verdict);
    out["reason"] = json_sentence(step.reason);
    list.push_back(std::move(out));
  }
  return list;
}

/// Which rule this is.
void put_rule(Json& out, const Selection& selection) {
  out["policy"] = json_bytes(selection.policy);
  out["consumer"] = json_bytes_or_null(selection.consumer);
  out["title"] = json_sentence_or_null(selection.title);
  out["vintage"] = json_sentence_or_null(selection.vintage);
  out["source"] = json_sentence_or_null(selection.source);
  out["current"] = selection.current;
  out["bound_names"] = selection.bound;
  out["presence"] = name_of(selection.presence);
  out["presence_note"] = json_sentence_or_null(selection.presence_note);
}

/// What it ends at.
void put_answer(Json& out, const Report& report, const Selection& selection) {
  const auto index = candidate_of(report, selection);
  out["result"] = name_of(result_of(selection));
  out["outcome"] = name_of(selection.outcome);
  out["chosen"] = json_bytes_or_null(selection.chosen_text);
  out["runtime"] = index ? Json(candidate_refs(report)[*index]) : Json(nullptr);
  out["disk_path"] = selection.disk_path ? json_bytes(*selection.disk_path) : Json(nullptr);
  out["open"] = name_of(selection.open);
  out["open_note"] = json_sentence_or_null(selection.open_note);
  if (selection.missing_known || !selection.missing.empty()) {
    put_known(out, "missing", json_bytes_list(selection.missing));
  } else {
    put_unknown(out, "missing",
                selection.outcome == Outcome::selected ? "the object's symbols could not be read"
                                                       : "nothing was selected");
  }
  out["error_text"] = json_sentence_or_null(selection.error_text);
  out["error_type"] = json_bytes_or_null(selection.error_type);
  out["stability"] = name_of(selection.stability);
  out["other_answers"] = json_bytes_list(selection.other_answers);
  out["possible"] = json_bytes_list(selection.possible);
}

}  // namespace

Json json_consumers(const Report& report) {
  Json list = Json::array();
  for (const Consumer& consumer : report.consumers) {
    Json out;
    out["id"] = json_bytes(consumer.id);
    out["name"] = json_bytes(consumer.name);
    out["presence"] = name_of(consumer.presence);
    put_text(out, "version", consumer.version, "no package metadata was found");
    put_text(out, "vintage", consumer.vintage, "not determined");
    out["vintage_from"] = json_sentence_or_null(consumer.vintage_from);
    out["signs"] = json_sentence_list(consumer.signs);
    list.push_back(std::move(out));
  }
  return list;
}

Json json_selections(const Report& report) {
  Json list = Json::array();
  for (const Selection& selection : report.selections) {
    Json out;
    put_rule(out, selection);
    put_answer(out, report, selection);
    out["steps"] = steps_part(selection.steps);
    list.push_back(std::move(out));
  }
  return list;
}

}  // namespace cudart_doctor
