// Recording: which objects of the CUDA family the processes of a command loaded and unloaded, in
// what order, and who asked for them. Written by `run`; part of the snapshot of the process that
// was judged. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/maps.hpp"

namespace cudart_doctor {

enum class LoadKind : std::uint8_t { load, unload };

/// How an object came into a process.
enum class LoadCause : std::uint8_t {
  unknown,
  program,  ///< It is the program itself.
  needed,   ///< DT_NEEDED of `requester`.
  preload,  ///< LD_PRELOAD or /etc/ld.so.preload.
  opened,   ///< dlopen or dlmopen by `requester`; `loader_namespace` tells which.
};

/// One frame of Python code, as bytes.
struct PythonFrame {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
  std::string module;  ///< __name__ of its globals; "" where it has none.
};

/// Whether code of this module only loads or imports what its callers name: ctypes, importlib.
inline bool loads_for_callers(std::string_view module) {
  return module == "ctypes" || module == "importlib" || module.starts_with("importlib.");
}

/// A place in native code.
struct NativeCaller {
  std::string object;        ///< Path of the object, as bytes.
  std::uint64_t offset = 0;  ///< From its load bias.
  std::string symbol;        ///< Nearest exported function below; "" where none is known.
};

/// One load or unload.
struct LoadEvent {
  LoadKind kind = LoadKind::load;
  std::int64_t nanoseconds = 0;  ///< Since the command was started.
  std::int64_t pid = 0;          ///< As the doctor sees it.
  std::int64_t tid = 0;          ///< As the process itself sees it.
  std::string path;              ///< As the loader has it, as bytes.
  std::optional<FileKey> key;    ///< Of what was at `path` in that moment.
  std::uint64_t base = 0;        ///< Load bias.
  std::uint32_t loader_namespace = 0;
  std::uint32_t order = 0;  ///< Objects that the process had loaded before this one.
  LoadCause cause = LoadCause::unknown;
  std::string requested;  ///< The name that was asked for: "libcudart.so.12", as bytes.
  std::string requester;  ///< Path of the object that asked; the program: its executable.
  std::optional<NativeCaller> caller;  ///< Of `opened` only.
  std::vector<PythonFrame> python;     ///< Innermost first, without the import machinery.
  std::string python_note;  ///< Why there are none, or not all: "its stack could not be read: ...".
};

enum class ProcessEnd : std::uint8_t { running, exited, signalled, replaced_by_exec, unknown };

/// When a process was looked at.
enum class JudgeMoment : std::uint8_t {
  none,   ///< It was not.
  exit,   ///< In the moment before its end.
  ready,  ///< When the command was ready (--ready-when).
  load,   ///< Right after a load: the gate, or where it could not be watched to its end.
};

/// One process of the command.
struct RecordedProcess {
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::int64_t began = 0;                 ///< Nanoseconds since the command was started.
  std::string executable;                 ///< As bytes.
  std::vector<std::string> command_line;  ///< As bytes; secrets are cut when it is shown.
  bool recorded = false;                  ///< The recorder is in it.
  std::string unrecorded;  ///< Why not: "a static program"; "" where it is, or nobody knows.
  bool traced = false;     ///< Traced from its start: what it has at its end cannot be missed.
  ProcessEnd end = ProcessEnd::unknown;
  int status = 0;  ///< Exit code or signal number, by `end`.
  JudgeMoment judged = JudgeMoment::none;
  std::string not_judged;  ///< Why, where it holds objects of the CUDA family and was not.
  /// The process that it was forked from with those objects and to which it added none: what was
  /// concluded of that one holds for it too. 0: none.
  std::int64_t copy_of = 0;
  /// What was concluded, where it was judged.
  std::optional<Severity> worst;
  std::vector<std::string> findings;  ///< Ids, gravest first.
  std::string headline;               ///< Of the first finding; "" for none.
  std::string undecided;              ///< As Verdict::undecided.
  std::uint64_t lost = 0;             ///< Records that did not arrive.
};

struct Recording {
  std::vector<std::string> command;  ///< As given, as bytes.
  /// Path of the recorder's library in the processes, as LD_AUDIT had it: what is judged is the
  /// process without it. "": none was used.
  std::string recorder;
  std::string started_at;     ///< UTC, RFC 3339.
  std::int64_t duration = 0;  ///< Nanoseconds from its start to its end, or to the verdict.
  ProcessEnd end = ProcessEnd::unknown;
  int status = 0;
  std::int64_t root_pid = 0;
  std::string ready_when;       ///< The condition as given; "" for the end of the command.
  bool ready = false;           ///< It was met.
  bool gated = false;           ///< The gate ended the command.
  bool stopped = false;         ///< The doctor ended it after the verdict (--then stop).
  std::int64_t judged_pid = 0;  ///< The process that this report is about; 0: none was judged.
  std::vector<RecordedProcess> processes;  ///< In the order in which they were seen.
  std::vector<LoadEvent> events;           ///< By time.
  std::uint64_t events_dropped = 0;        ///< Behind the limit of what is kept.
  std::vector<std::string> limits;         ///< What was not recorded and why; sentences.
};

/// Snapshot::recording is a Fact: not asked for a process that `run` did not start.
using RecordingFact = Fact<Recording>;

}  // namespace cudart_doctor
