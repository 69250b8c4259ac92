// What a test says of the probe in one word, as the record that a real probe would leave. The words
// are the `probe` keys of the case files.
#pragma once

#include <string_view>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor::test {

/// The record of the first genuine runtime that is loaded, made when there is none yet. The
/// snapshot's objects must be complete.
ProbedRuntime& probed_runtime(Snapshot& snapshot);

/// Adds a stage to that record: a pass for code 0, else a failure with the code.
StageResult& add_stage(Snapshot& snapshot, Stage stage, int code);

/// "cudaGetDeviceCount", "ipc.local", "pidfd_getfd", "pair" and "stage.NAME" become stages and
/// mechanisms, "driverVersion" and "runtimeVersion" the runtime's own answers; "app.reported" and
/// "ipc.peer.open", which no probe gives, stay as they are.
void give_probe(Snapshot& snapshot, std::string_view key, std::string_view value);

}  // namespace cudart_doctor::test
