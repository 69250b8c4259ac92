// run of the JSON report: what was recorded of a command from its start.
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"
#include "render/redact.hpp"

namespace cudart_doctor {
namespace {

/// Nanoseconds in whole microseconds: more digits are noise.
Json seconds(std::int64_t nanoseconds) {
  constexpr std::int64_t kMicrosecond = 1000;
  constexpr double kPerSecond = 1e6;
  return static_cast<double>(nanoseconds / kMicrosecond) / kPerSecond;
}

void put_end(Json& out, ProcessEnd end, int status) {
  out["end"] = name_of(end);
  out["exit_code"] = end == ProcessEnd::exited ? Json(status) : Json(nullptr);
  out["signal"] = end == ProcessEnd::signalled ? Json(status) : Json(nullptr);
}

Json number_or_null(std::int64_t number) { return number == 0 ? Json(nullptr) : Json(number); }

Json process_part(const RecordedProcess& process, bool odd) {
  Json out;
  out["pid"] = process.pid;
  out["parent_pid"] = process.parent_pid;
  out["began_seconds"] = seconds(process.began);
  out["executable"] = json_bytes(process.executable);
  out["command_line"] = json_bytes_list(redact_arguments(process.command_line));
  out["recorded"] = process.recorded;
  out["unrecorded"] = json_sentence_or_null(process.unrecorded);
  out["traced"] = process.traced;
  put_end(out, process.end, process.status);
  out["judged"] = name_of(process.judged);
  out["not_judged"] = json_sentence_or_null(process.not_judged);
  out["copy_of"] = number_or_null(process.copy_of);
  out["worst"] = process.worst ? Json(name_of(*process.worst)) : Json(nullptr);
  out["findings"] = json_bytes_list(process.findings);
  out["headline"] = json_sentence_or_null(process.headline);
  out["undecided"] = json_sentence_or_null(process.undecided);
  out["odd"] = odd;
  out["lost"] = process.lost;
  return out;
}

Json processes_part(const Report& report, const Recording& recording) {
  std::vector<bool> odd(recording.processes.size(), false);
  for (const ProcessGroup& group : report.timeline.groups) {
    for (const std::size_t member : group.members) odd[member] = group.odd;
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    list.push_back(process_part(recording.processes[i], odd[i]));
  }
  return list;
}

Json caller_part(const NativeCaller& caller) {
  Json out;
  out["object"] = json_bytes(caller.object);
  out["offset"] = json_address(caller.offset);
  out["symbol"] = json_bytes_or_null(caller.symbol);
  return out;
}

Json python_part(const std::vector<PythonFrame>& frames) {
  Json list = Json::array();
  for (const PythonFrame& frame : frames) {
    Json out;
    out["file"] = json_bytes(frame.file);
    out["line"] = frame.line;
    out["function"] = json_bytes(frame.function);
    out["module"] = json_bytes_or_null(frame.module);
    list.push_back(std::move(out));
  }
  return list;
}

Json event_part(const LoadEvent& event, const TimelineRow& row,
                const std::vector<std::string>& refs) {
  Json out;
  out["kind"] = name_of(event.kind);
  out["seconds"] = seconds(event.nanoseconds);
  out["pid"] = event.pid;
  out["tid"] = event.tid;
  out["of_judged"] = row.of_judged;
  out["path"] = json_bytes(event.path);
  out["runtime"] = row.candidate ? Json(refs[*row.candidate]) : Json(nullptr);
  out["companion"] = row.companion ? Json(*row.companion) : Json(nullptr);
  out["device"] = event.key ? Json(json_device(*event.key)) : Json(nullptr);
  out["inode"] = event.key ? Json(event.key->inode) : Json(nullptr);
  out["base"] = json_address(event.base);
  out["loader_namespace"] = event.loader_namespace;
  out["order"] = event.order;
  out["cause"] = name_of(event.cause);
  out["requested"] = json_bytes_or_null(event.requested);
  out["requester"] = json_bytes_or_null(event.requester);
  out["caller"] = event.caller ? caller_part(*event.caller) : Json(nullptr);
  out["python"] = python_part(event.python);
  out["python_note"] = json_sentence_or_null(event.python_note);
  out["unloaded_seconds"] = row.unloaded ? seconds(*row.unloaded) : Json(nullptr);
  return out;
}

Json story_part(const Story& story, const std::vector<std::string>& refs) {
  Json out;
  out["reason"] = name_of(story.reason);
  out["object"] = json_bytes(story.object);
  out["runtime"] = story.candidate ? Json(refs[*story.candidate]) : Json(nullptr);
  out["event"] = story.event ? Json(*story.event) : Json(nullptr);
  out["text"] = json_sentence(story.text);
  out["effect"] = json_sentence_or_null(story.effect);
  return out;
}

}  // namespace

Json json_run(const Report& report, const Recording& recording) {
  const auto refs = candidate_refs(report);
  Json out;
  out["command"] = json_bytes_list(redact_arguments(recording.command));
  put_text(out, "started_at", recording.started_at, "not recorded");
  out["duration_seconds"] = seconds(recording.duration);
  put_end(out, recording.end, recording.status);
  out["root_pid"] = recording.root_pid;
  out["ready_when"] = json_bytes_or_null(recording.ready_when);
  out["ready"] = recording.ready;
  out["gated"] = recording.gated;
  out["stopped"] = recording.stopped;
  out["judged_pid"] = number_or_null(recording.judged_pid);
  out["processes"] = processes_part(report, recording);
  out["events"] = Json::array();
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const TimelineRow row =
        i < report.timeline.rows.size() ? report.timeline.rows[i] : TimelineRow{};
    out["events"].push_back(event_part(recording.events[i], row, refs));
  }
  out["events_dropped"] = recording.events_dropped;
  const auto& story = report.timeline.story;
  out["story"] = story ? story_part(*story, refs) : Json(nullptr);
  out["limits"] = json_sentence_list(recording.limits);
  return out;
}

}  // namespace cudart_doctor
