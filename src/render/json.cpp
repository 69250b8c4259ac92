// The JSON document's frame, and the findings.
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

constexpr int kSchemaVersion = 1;

Json verdict_part(const Report& report) {
  const Verdict& verdict = report.verdict;
  Json out;
  out["exit_code"] = verdict.exit_code;
  out["exit_style"] = name_of(verdict.exit_style);
  out["state"] = name_of(verdict.end);
  out["worst"] = verdict.worst ? Json(name_of(*verdict.worst)) : Json(nullptr);
  out["fail_on"] = name_of(verdict.fail_on);
  out["undecided"] = json_sentence_or_null(verdict.undecided);
  out["ended_allowances"] = json_sentence_list(report.allowances.ended);
  return out;
}

Json headline_part(const Report& report) {
  Json out;
  out["policy"] = json_bytes_or_null(report.headline_policy);
  out["note"] = json_sentence_or_null(report.headline_note);
  out["sentence"] = headline_sentence(report);
  return out;
}

}  // namespace

Json json_findings(const Report& report) {
  Json list = Json::array();
  for (const Finding& finding : report.findings) {
    Json out;
    out["id"] = json_bytes(finding.id);
    out["slug"] = json_bytes(finding.slug);
    out["severity"] = name_of(finding.severity);
    out["owner"] = name_of(finding.owner);
    out["headline"] = json_sentence(finding.headline);
    out["effect"] = json_sentence_or_null(finding.effect);
    out["evidence"] = json_sentence_list(finding.evidence);
    out["fixes"] = json_sentence_list(finding.fixes);
    out["no_help"] = json_sentence_list(finding.no_help);
    out["consumer"] = json_sentence_or_null(finding.consumer);
    out["allowed"] = json_sentence_or_null(finding.allowed);
    list.push_back(std::move(out));
  }
  return list;
}

std::string render_json(const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["tool"]["name"] = "cudart-doctor";
  out["tool"]["version"] = CUDART_DOCTOR_VERSION;
  put_text(out, "generated_at", snapshot.capture.taken_at, "the snapshot carries no time");
  out["host"] = json_host(snapshot.host);
  out["target"] = json_target(snapshot);
  out["verdict"] = verdict_part(report);
  out["headline"] = headline_part(report);
  out["findings"] = json_findings(report);
  out["runtimes"] = json_runtimes(report);
  out["companions"] = json_companions(report);
  out["consumers"] = json_consumers(report);
  out["selections"] = json_selections(report);
  out["probe"] = json_probe(report);
  out["peers"] = json_peers(snapshot);
  if (const auto* recording = snapshot.recording.get()) {
    put_known(out, "run", json_run(report, *recording));
  } else {
    put_unknown(out, "run", snapshot.recording.reason());
  }
  if (const auto* environment = snapshot.environment.get()) {
    put_known(out, "environment", json_environment(*environment));
  } else {
    put_unknown(out, "environment", snapshot.environment.reason());
  }
  if (snapshot.link_map.is_known()) {
    put_known(out, "link_map", json_link_map(report));
  } else {
    put_unknown(out, "link_map", snapshot.link_map.reason());
  }
  if (!report.global_names.empty()) {
    put_known(out, "global_names", json_global_names(report));
  } else {
    put_unknown(out, "global_names",
                snapshot.link_map.is_known() ? "the loader's list could not be followed"
                                             : snapshot.link_map.reason());
  }
  out["installed"] = json_installed(report);
  out["python"] = json_python(snapshot.python);
  out["capture"] = json_capture(snapshot);
  // `replace` cannot fail; nothing is left to replace after the escaping above.
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace cudart_doctor
