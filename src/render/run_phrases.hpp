// What several formats say of a command that was recorded. All of it is printable.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/phrases.hpp"

namespace cudart_doctor {

/// The command line in short, without secrets.
std::string command_title(const Recording& recording);

/// "No CUDA library was loaded by this command (5 processes, 3 recorded)."
std::string nobody_sentence(const Recording& recording);

/// "vllm serve ...: judged when ready (port:8000); running 41.3 s after its start; 5 processes"
std::string run_sentence(const Report& report, const Recording& recording);

/// How a command ended that did not end well, or that it never was ready: "The command was ended
/// by signal 9 (SIGKILL) after 12 ms."; "" where it did well, runs on, or was ended on purpose.
std::string trouble_sentence(const Recording& recording);

/// The story with what follows from it; "" where there is none.
std::string story_text(const Report& report);

/// A load that is worth a row: of a library of CUDA, in the judged process.
struct LoadRow {
  std::size_t event = 0;  ///< Index into Recording::events.
  std::string time{};     ///< Since the start: "1.8 s"
  std::string ref{};      ///< The runtime's letter; "" for other libraries.
  Mark mark{};
  std::string name{};  ///< File name.
  std::string how{};   ///< "needed by libtilelang.so; unloaded 5 ms later"
};
/// By time; all of them. Where no process was judged: of every process.
std::vector<LoadRow> load_rows(const Report& report, const Recording& recording);

/// Other judged processes, alike ones together: "2 more with the same result: pid 4122, 4123".
std::vector<std::string> other_processes(const Report& report, const Recording& recording);

/// Processes that were there when the command was told of and go on without being recorded: "pid
/// 4130 python3 worker.py". Where the command itself goes on they are no news.
std::vector<std::string> left_running(const Recording& recording);

/// A process by its command line, without secrets, or its executable; never "".
std::string process_name(const Recording& recording, const RecordedProcess& process);

/// What was not recorded, one sentence each.
std::vector<std::string> run_limits(const Recording& recording);

}  // namespace cudart_doctor
