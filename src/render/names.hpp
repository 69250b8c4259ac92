// The words of the JSON report for the model's enumerations: lower_snake, never changed within a
// schema version.
#pragma once

#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

std::string_view name_of(ErrorKind value);
std::string_view name_of(RunEnd value);
std::string_view name_of(Severity value);
std::string_view name_of(Owner value);
std::string_view name_of(PackageKind value);
std::string_view name_of(RuntimeKind value);
std::string_view name_of(CompanionKind value);
std::string_view name_of(Presence value);
std::string_view name_of(Outcome value);
std::string_view name_of(Arrival value);
std::string_view name_of(OpenOutcome value);
std::string_view name_of(StepVerdict value);
std::string_view name_of(Stability value);
std::string_view name_of(FileState value);
std::string_view name_of(ReadRoute value);
std::string_view name_of(EnvironmentOrigin value);
std::string_view name_of(SnapshotOrigin value);
std::string_view name_of(Stage value);
std::string_view name_of(StageOutcome value);
std::string_view name_of(ProbeSide value);
std::string_view name_of(ChildEndKind value);
std::string_view name_of(Mechanism value);
std::string_view name_of(ProbeDecision value);
std::string_view name_of(ProbeOutcome value);
std::string_view name_of(LoadKind value);
std::string_view name_of(LoadCause value);
std::string_view name_of(ProcessEnd value);
std::string_view name_of(JudgeMoment value);
std::string_view name_of(StoryReason value);

}  // namespace cudart_doctor
