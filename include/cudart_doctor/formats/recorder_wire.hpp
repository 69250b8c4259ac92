// What the recorder, which sits in other processes, tells the launcher: one packet a record, read
// as hostile bytes.
//
// A record is a sequence of fields, each `key=value` with a NUL behind it; the first is `kind`.
// Values are bytes without NUL. Unknown keys are skipped. Kinds and keys, all numbers decimal
// unless marked:
//   start   pid ppid tid t                      the recorder is in a freshly executed program
//   load    pid tid t order ns base(hex) dev(MAJOR:MINOR) ino path cause name by
//           callerobj calleroff(hex) pyfile pyline pyfunc pymod (repeated, innermost first) pynote
//   unload  pid tid t ns base(hex) path         it is no longer mapped
//   lost    pid count                           records that could not be sent before
//   sync    pid leakcheck                       the process waits for one byte: kProceed or kHold;
//                                               any number of kWait may come before it
// leakcheck is there (1) where LeakSanitizer is in the process, which wants to trace it at its end.
// dev and ino come together or not at all, and so do callerobj and calleroff. pyline, pyfunc and
// pymod belong to the pyfile before them. `t` is CLOCK_MONOTONIC in nanoseconds; pid and tid are
// the process's own view.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/formats/recorder_limits.hpp"
#include "cudart_doctor/model/recording.hpp"

namespace cudart_doctor {

enum class WireKind : std::uint8_t { start, load, unload, lost, sync };

struct WireRecord {
  WireKind kind = WireKind::start;
  std::int64_t pid = 0;         ///< In the process's own view.
  std::int64_t parent_pid = 0;  ///< start
  std::int64_t monotonic = 0;   ///< CLOCK_MONOTONIC, nanoseconds.
  std::uint64_t lost = 0;       ///< lost
  bool checks_leaks = false;    ///< sync: LeakSanitizer is in the process.
  LoadEvent event;              ///< load, unload; its `nanoseconds` and `pid` are not set.
};

/// Pure. Errors: malformed (no kind, a number that is none, a missing or repeated key, no NUL at
/// the end), limit (kMaxRecord, kMaxPythonFrames).
Result<WireRecord> parse_record(std::string_view packet);

}  // namespace cudart_doctor
