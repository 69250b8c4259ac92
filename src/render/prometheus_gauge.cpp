#include "render/prometheus_gauge.hpp"

#include <chrono>

#include "cudart_doctor/base/utc_time.hpp"
#include "render/names.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

/// A value between quotes, as the text format has it.
std::string quoted(std::string_view value) {
  std::string out = "\"";
  for (const char each : printable(value)) {
    if (each == '\\' || each == '"') out += '\\';
    out += each;
  }
  return out + "\"";
}

}  // namespace

void Gauge::add(const std::vector<Label>& labels, std::string_view value) {
  std::string text;
  for (const Label& label : labels) {
    if (!text.empty()) text += ',';
    text.append(label.name).append("=").append(quoted(label.value));
  }
  samples_ += name_;
  if (!text.empty()) samples_ += "{" + text + "}";
  samples_.append(" ").append(value).append("\n");
}

std::string Gauge::text() const {
  if (samples_.empty()) return {};
  return "# HELP " + name_ + " " + help_ + "\n# TYPE " + name_ + " gauge\n" + samples_;
}

std::string build_info_gauge() {
  Gauge gauge("build_info", "The cudart-doctor that wrote this; always 1.");
  gauge.add({{"version", CUDART_DOCTOR_VERSION}}, 1);
  return gauge.text();
}

std::string verdict_gauge(RunEnd end) {
  Gauge gauge("verdict", "1 for what the last run concluded, 0 for the others.");
  for (const RunEnd each : {RunEnd::ok, RunEnd::warned, RunEnd::findings, RunEnd::undecided}) {
    gauge.add({{"state", std::string(name_of(each))}}, each == end ? 1 : 0);
  }
  return gauge.text();
}

std::string last_run_gauge(std::string_view taken_at) {
  Gauge gauge("last_run_timestamp_seconds", "When the process was looked at, Unix time.");
  if (const auto time = parse_utc_time(taken_at)) {
    gauge.add({}, std::to_string(time->time_since_epoch().count()));
  }
  return gauge.text();
}

}  // namespace cudart_doctor
