// What a recording tells together with the snapshot of the process that was judged: which library
// each event is of, how the one that matters came in, which processes are alike. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor {

/// One event of the recording.
struct TimelineRow {
  bool of_judged = false;                ///< It happened in the judged process, or was inherited.
  std::optional<std::size_t> candidate;  ///< Index into Report::candidates: of the same file.
  std::optional<std::size_t> companion;  ///< Index into Report::companions.
  std::optional<std::int64_t> unloaded;  ///< When what was loaded was unloaded; nanoseconds.
};

/// Why a library is the one whose story is told.
enum class StoryReason : std::uint8_t {
  look_alike,     ///< A consumer would take it for the runtime.
  finding,        ///< The first finding is about it.
  first_runtime,  ///< Nothing is wrong: the first genuine runtime.
};

/// How one library came into the process.
struct Story {
  StoryReason reason = StoryReason::first_runtime;
  std::string object;                    ///< Its path, as bytes.
  std::optional<std::size_t> candidate;  ///< Index into Report::candidates.
  std::optional<std::size_t> event;  ///< Its load, index into Recording::events; nothing: unseen.
  std::string text;                  ///< How it came in; foreign text is escaped here and below.
  std::string effect;                ///< What follows from it; "" where nothing is to be said.
};

/// Judged processes of which the same was concluded.
struct ProcessGroup {
  std::vector<std::size_t> members;  ///< Indices into Recording::processes, ascending.
  bool odd = false;  ///< Fewer than the others that run the same program, of which most agree.
};

struct Timeline {
  std::optional<std::size_t> judged;  ///< The report's process, index into Recording::processes.
  std::vector<TimelineRow> rows;      ///< One for each event, in their order.
  std::optional<Story> story;
  std::vector<ProcessGroup> groups;  ///< In the order of their first members.
};

}  // namespace cudart_doctor
