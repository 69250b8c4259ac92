// Questions about what the probe saw that several rules ask, and how findings speak of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

/// A stage that ran and did not pass. What was skipped is neither.
bool is_failed(StageOutcome outcome);

/// ipc_export to ipc_again.
bool is_ipc_stage(Stage stage);

/// Between two cards, not within one.
bool is_between_cards(const StageResult& stage);

std::string_view stage_name(Stage stage);
std::string_view side_name(ProbeSide side);
std::string_view mechanism_name(Mechanism mechanism);

/// What a child, the system or a file said, made printable and cut to the length of a sentence.
std::string told(std::string_view text);

/// "35 (cudaErrorInsufficientDriver)"; a call of the driver's ("cuMemCreate") has the driver's
/// names.
std::string shown_code(int code, std::string_view call = {});
/// "EPERM"; "errno 77" for one that is not known here.
std::string errno_name(int error);
/// "libcudart.so.12 12.8": the file's name and the version that the candidate carries.
std::string runtime_name(const Observations& seen, const ProbedRuntime& runtime);

/// The candidate that was probed; nullptr where the index is none.
const Candidate* candidate_of(const Observations& seen, const ProbedRuntime& runtime);
/// What the probe says of a candidate; nullptr where it was not probed, or not run.
const ProbedRuntime* probe_of(const Observations& seen, const Candidate& candidate);

/// What loading a look-alike showed of its names; nothing where that was not tried.
std::vector<std::string> probe_sentences(const Observations& seen, const Candidate& candidate);

/// How the IPC round trip of plain cudaMalloc memory within one card went: failed when it failed
/// for any runtime that was asked, passed when the data came back right at least once.
enum class RoundTrip : std::uint8_t { not_run, passed, failed };
RoundTrip plain_round_trip(const ProbeFacts& probe);

/// A mechanism's result on the card where it went worst; nullptr where there is no record.
const MechanismResult* find_mechanism(const ProbeFacts& probe, Mechanism mechanism);

/// A variable as the children had it; where that is not recorded, as the target has it.
const std::string* probe_variable(const Snapshot& snapshot, std::string_view name);

/// Why CUDA_VISIBLE_DEVICES leaves no card ("is empty"); "" where it does not, or that is open.
std::string hidden_cards(const Snapshot& snapshot);

/// A code that a test case says a process reported ("app.reported", "ipc.peer.open").
std::optional<int> reported_code(const Snapshot& snapshot, std::string_view key);

}  // namespace cudart_doctor
