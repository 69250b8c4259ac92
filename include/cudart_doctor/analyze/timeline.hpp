// What a recording and the snapshot of the judged process tell together. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// A command was recorded and none of its processes was judged: the snapshot is of nobody.
bool nobody_judged(const Snapshot& snapshot);

/// No process of the command was recorded or traced from its start: whatever it loaded may have
/// gone unseen.
bool is_nobody_watched(const Recording& recording);

/// Processes that hold libraries of CUDA and were neither judged nor forked from one that was;
/// indices into Recording::processes.
std::vector<std::size_t> processes_left_out(const Recording& recording);

/// The snapshot as it would be without the recorder: its library is nobody's choice, stands in no
/// list of what the loader has, and LD_AUDIT holds the user's own only. Unchanged without one.
/// A process that a `run` at work started, looked at without its recording, is known by the folder
/// and the soname of the recorder.
Snapshot without_recorder(Snapshot snapshot);

/// Wants findings and selections; empty where nothing was recorded.
Timeline make_timeline(const Report& report);

/// A file of Python code in short, printable: below a site directory its package and name
/// ("vllm/.../mhc.py"), else the last folder and the name.
std::string short_python_file(const Snapshot& snapshot, const std::string& file);

/// A frame's place, printable: "tilelang/__init__.py:131 in _load"; without a function at module
/// level.
std::string python_place(const Snapshot& snapshot, const PythonFrame& frame);

/// Who asked for what was loaded, printable: "needed by libtilelang.so", "dlopened at
/// torch/__init__.py:300", "preloaded". At most `places` Python files of an import chain.
std::string arrival_phrase(const Snapshot& snapshot, const LoadEvent& event, std::size_t places);

/// "0.4 ms", "420 ms", "1.8 s", "212 s"
std::string duration_text(std::int64_t nanoseconds);

}  // namespace cudart_doctor
