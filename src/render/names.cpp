// One switch an enumeration: the compiler names a value that has no word.
#include "render/names.hpp"

namespace cudart_doctor {

std::string_view name_of(ErrorKind value) {
  switch (value) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::not_found: return "not_found";
    case ErrorKind::permission: return "permission";
    case ErrorKind::gone: return "gone";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::io: return "io";
    case ErrorKind::malformed: return "malformed";
    case ErrorKind::limit: return "limit";
    case ErrorKind::unsupported: return "unsupported";
  }
  return "io";
}

std::string_view name_of(RunEnd value) {
  switch (value) {
    case RunEnd::ok: return "ok";
    case RunEnd::warned: return "warning";
    case RunEnd::findings: return "findings";
    case RunEnd::usage: return "usage";
    case RunEnd::undecided: return "undecided";
  }
  return {};
}

std::string_view name_of(Severity value) {
  switch (value) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
    case Severity::critical: return "critical";
  }
  return {};
}

std::string_view name_of(PackageKind value) {
  switch (value) {
    case PackageKind::wheel: return "wheel";
    case PackageKind::conda: return "conda";
    case PackageKind::dpkg: return "dpkg";
    case PackageKind::rpm: return "rpm";
  }
  return {};
}

std::string_view name_of(Owner value) {
  switch (value) {
    case Owner::node: return "node";
    case Owner::image: return "image";
    case Owner::user: return "user";
  }
  return {};
}

std::string_view name_of(RuntimeKind value) {
  switch (value) {
    case RuntimeKind::genuine: return "genuine";
    case RuntimeKind::stub: return "stub";
    case RuntimeKind::shim: return "shim";
    case RuntimeKind::stand_in: return "stand_in";
    case RuntimeKind::static_copy: return "static_copy";
    case RuntimeKind::not_a_runtime: return "not_a_runtime";
    case RuntimeKind::undetermined: return "undetermined";
  }
  return {};
}

std::string_view name_of(CompanionKind value) {
  switch (value) {
    case CompanionKind::driver: return "driver";
    case CompanionKind::driver_compat: return "driver_compat";
    case CompanionKind::driver_stub: return "driver_stub";
    case CompanionKind::driver_shim: return "driver_shim";
    case CompanionKind::driver_broken: return "driver_broken";
    case CompanionKind::nvrtc: return "nvrtc";
    case CompanionKind::nvrtc_stub: return "nvrtc_stub";
    case CompanionKind::nvrtc_shim: return "nvrtc_shim";
    case CompanionKind::nvml: return "nvml";
    case CompanionKind::nvml_stub: return "nvml_stub";
    case CompanionKind::undetermined: return "undetermined";
  }
  return {};
}

std::string_view name_of(Presence value) {
  switch (value) {
    case Presence::present: return "present";
    case Presence::absent: return "absent";
    case Presence::unknown: return "unknown";
  }
  return {};
}

std::string_view name_of(Arrival value) {
  switch (value) {
    case Arrival::unknown: return "unknown";
    case Arrival::program: return "program";
    case Arrival::preload: return "preload";
    case Arrival::needed: return "needed";
    case Arrival::opened: return "opened";
  }
  return {};
}

std::string_view name_of(Outcome value) {
  switch (value) {
    case Outcome::selected: return "selected";
    case Outcome::none: return "none";
    case Outcome::unexpected_filename: return "unexpected_filename";
    case Outcome::no_path: return "no_path";
    case Outcome::not_found: return "not_found";
    case Outcome::multiple: return "multiple";
    case Outcome::aborts: return "aborts";
    case Outcome::undetermined: return "undetermined";
    case Outcome::not_applicable: return "not_applicable";
  }
  return {};
}

std::string_view name_of(OpenOutcome value) {
  switch (value) {
    case OpenOutcome::not_asked: return "not_asked";
    case OpenOutcome::old_object: return "old_object";
    case OpenOutcome::fails: return "fails";
    case OpenOutcome::new_object: return "new_object";
    case OpenOutcome::loads: return "loads";
    case OpenOutcome::unknown: return "unknown";
  }
  return {};
}

std::string_view name_of(StepVerdict value) {
  switch (value) {
    case StepVerdict::taken: return "taken";
    case StepVerdict::rejected: return "rejected";
    case StepVerdict::noted: return "noted";
  }
  return {};
}

std::string_view name_of(Stability value) {
  switch (value) {
    case Stability::stable: return "stable";
    case Stability::order_dependent: return "order_dependent";
    case Stability::not_by_address: return "not_by_address";
  }
  return {};
}

std::string_view name_of(FileState value) {
  switch (value) {
    case FileState::unknown: return "unknown";
    case FileState::same: return "same";
    case FileState::deleted: return "deleted";
    case FileState::replaced: return "replaced";
    case FileState::differs: return "differs";
    case FileState::absent: return "absent";
    case FileState::memory: return "memory";
  }
  return {};
}

std::string_view name_of(ReadRoute value) {
  switch (value) {
    case ReadRoute::none: return "none";
    case ReadRoute::map_files: return "map_files";
    case ReadRoute::root_path: return "root_path";
    case ReadRoute::memory: return "memory";
    case ReadRoute::fixture: return "fixture";
  }
  return {};
}

std::string_view name_of(EnvironmentOrigin value) {
  switch (value) {
    case EnvironmentOrigin::at_exec: return "at_exec";
    case EnvironmentOrigin::live_memory: return "live_memory";
    case EnvironmentOrigin::fixture: return "fixture";
  }
  return {};
}

std::string_view name_of(SnapshotOrigin value) {
  switch (value) {
    case SnapshotOrigin::live: return "live";
    case SnapshotOrigin::self: return "self";
    case SnapshotOrigin::bundle: return "bundle";
    case SnapshotOrigin::fixture: return "fixture";
  }
  return {};
}

std::string_view name_of(Stage value) { return kStageNames.at(static_cast<std::size_t>(value)); }

std::string_view name_of(StageOutcome value) {
  switch (value) {
    case StageOutcome::pass: return "pass";
    case StageOutcome::fail: return "fail";
    case StageOutcome::skipped: return "skipped";
    case StageOutcome::begun: return "begun";
  }
  return {};
}

std::string_view name_of(ProbeSide value) {
  switch (value) {
    case ProbeSide::runner: return "runner";
    case ProbeSide::exporter: return "exporter";
    case ProbeSide::importer: return "importer";
  }
  return {};
}

std::string_view name_of(ChildEndKind value) {
  switch (value) {
    case ChildEndKind::not_started: return "not_started";
    case ChildEndKind::exited: return "exited";
    case ChildEndKind::signalled: return "signalled";
    case ChildEndKind::timed_out: return "timed_out";
    case ChildEndKind::killed: return "killed";
    case ChildEndKind::left: return "left";
  }
  return {};
}

std::string_view name_of(Mechanism value) {
  return kMechanismNames.at(static_cast<std::size_t>(value));
}

std::string_view name_of(ProbeDecision value) {
  switch (value) {
    case ProbeDecision::not_asked: return "not_asked";
    case ProbeDecision::refused: return "refused";
    case ProbeDecision::impossible: return "impossible";
    case ProbeDecision::run: return "run";
  }
  return {};
}

std::string_view name_of(ProbeOutcome value) {
  switch (value) {
    case ProbeOutcome::not_run: return "not_run";
    case ProbeOutcome::works: return "works";
    case ProbeOutcome::does_not: return "does_not";
    case ProbeOutcome::not_confirmed: return "not_confirmed";
  }
  return {};
}

std::string_view name_of(LoadKind value) {
  switch (value) {
    case LoadKind::load: return "load";
    case LoadKind::unload: return "unload";
  }
  return {};
}

std::string_view name_of(LoadCause value) {
  switch (value) {
    case LoadCause::unknown: return "unknown";
    case LoadCause::program: return "program";
    case LoadCause::needed: return "needed";
    case LoadCause::preload: return "preload";
    case LoadCause::opened: return "opened";
  }
  return {};
}

std::string_view name_of(ProcessEnd value) {
  switch (value) {
    case ProcessEnd::running: return "running";
    case ProcessEnd::exited: return "exited";
    case ProcessEnd::signalled: return "signalled";
    case ProcessEnd::replaced_by_exec: return "replaced_by_exec";
    case ProcessEnd::unknown: return "unknown";
  }
  return {};
}

std::string_view name_of(JudgeMoment value) {
  switch (value) {
    case JudgeMoment::none: return "none";
    case JudgeMoment::exit: return "exit";
    case JudgeMoment::ready: return "ready";
    case JudgeMoment::load: return "load";
  }
  return {};
}

std::string_view name_of(StoryReason value) {
  switch (value) {
    case StoryReason::look_alike: return "look_alike";
    case StoryReason::finding: return "finding";
    case StoryReason::first_runtime: return "first_runtime";
  }
  return {};
}

}  // namespace cudart_doctor
