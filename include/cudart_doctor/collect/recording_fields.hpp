// Every field of a recording by name, as snapshot_fields has those of the rest of a snapshot.
#pragma once

#include <array>
#include <string_view>

#include "cudart_doctor/model/recording.hpp"

namespace cudart_doctor {

/// Names of an enumeration's values, in their order.
template <typename Enum>
struct EnumNames;
template <>
struct EnumNames<LoadKind> {
  static constexpr std::array<std::string_view, 2> kNames = {"load", "unload"};
};
template <>
struct EnumNames<LoadCause> {
  static constexpr std::array<std::string_view, 5> kNames = {"unknown", "program", "needed",
                                                             "preload", "opened"};
};
template <>
struct EnumNames<ProcessEnd> {
  static constexpr std::array<std::string_view, 5> kNames = {"running", "exited", "signalled",
                                                             "replaced_by_exec", "unknown"};
};
template <>
struct EnumNames<JudgeMoment> {
  static constexpr std::array<std::string_view, 4> kNames = {"none", "exit", "ready", "load"};
};

/// Archive::Ref<T> is T& for a reader and const T& for a writer.
template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<PythonFrame> v) {
  ar("file", v.file);
  ar("line", v.line);
  ar("function", v.function);
  ar("module", v.module);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<NativeCaller> v) {
  ar("object", v.object);
  ar("offset", v.offset);
  ar("symbol", v.symbol);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LoadEvent> v) {
  ar("kind", v.kind);
  ar("nanoseconds", v.nanoseconds);
  ar("pid", v.pid);
  ar("tid", v.tid);
  ar("path", v.path);
  ar("key", v.key);
  ar("base", v.base);
  ar("loader_namespace", v.loader_namespace);
  ar("order", v.order);
  ar("cause", v.cause);
  ar("requested", v.requested);
  ar("requester", v.requester);
  ar("caller", v.caller);
  ar("python", v.python);
  ar("python_note", v.python_note);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<RecordedProcess> v) {
  ar("pid", v.pid);
  ar("parent_pid", v.parent_pid);
  ar("began", v.began);
  ar("executable", v.executable);
  ar("command_line", v.command_line);
  ar("recorded", v.recorded);
  ar("unrecorded", v.unrecorded);
  ar("traced", v.traced);
  ar("end", v.end);
  ar("status", v.status);
  ar("judged", v.judged);
  ar("not_judged", v.not_judged);
  ar("copy_of", v.copy_of);
  ar("worst", v.worst);
  ar("findings", v.findings);
  ar("headline", v.headline);
  ar("undecided", v.undecided);
  ar("lost", v.lost);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<Recording> v) {
  ar("command", v.command);
  ar("recorder", v.recorder);
  ar("started_at", v.started_at);
  ar("duration", v.duration);
  ar("end", v.end);
  ar("status", v.status);
  ar("root_pid", v.root_pid);
  ar("ready_when", v.ready_when);
  ar("ready", v.ready);
  ar("gated", v.gated);
  ar("stopped", v.stopped);
  ar("judged_pid", v.judged_pid);
  ar("processes", v.processes);
  ar("events", v.events);
  ar("events_dropped", v.events_dropped);
  ar("limits", v.limits);
}

}  // namespace cudart_doctor
