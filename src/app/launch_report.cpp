#include "cudart_doctor/app/launch_report.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/collect/native_callers.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/run_both.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {
namespace {

/// What is known of a command none of whose processes was judged.
Snapshot bare_snapshot(const Recording& recording) {
  Snapshot snapshot;
  snapshot.process.pid = recording.root_pid;
  snapshot.process.command_line = Fact<std::vector<std::string>>::known(recording.command);
  snapshot.process.comm = base_name(recording.command.front());
  snapshot.process.ns_pids = {recording.root_pid};
  add_own_facts(snapshot.process);
  for (const RecordedProcess& process : recording.processes) {
    if (process.pid != recording.root_pid || process.executable.empty()) continue;
    snapshot.process.parent_pid = process.parent_pid;
    snapshot.process.executable = Fact<std::string>::known(process.executable);
  }
  utsname system = {};
  if (::uname(&system) == 0) {
    snapshot.host.name = system.nodename;
    snapshot.host.kernel = system.release;
  }
  snapshot.capture.taken_at = utc_now();
  return snapshot;
}

Result<Snapshot> snapshot_of(const LaunchFacts& facts) {
  if (facts.judgement == nullptr) return bare_snapshot(facts.recording);
  return snapshot_from_json(facts.judgement->snapshot, facts.judgement->maps,
                            "the look's snapshot");
}

/// The recording with the names of the functions that asked; the files are those of the doctor's
/// own root.
Recording with_names(const World& world, Recording recording) {
  const auto self = ProcDirectory::open(world.proc_root + "/self");
  if (!self) return recording;
  const auto files = TargetFiles::open(*self);
  if (files) name_callers(recording, *files);
  return recording;
}

WorkResult report_in_worker(const Options& options, const World& world, const JudgeOptions& how,
                            const LaunchFacts& facts) {
  auto snapshot = snapshot_of(facts);
  if (!snapshot) return failed(options, snapshot.error());
  snapshot->recording = RecordingFact::known(with_names(world, facts.recording));
  Report report = shown(options, identify(std::move(*snapshot), how, &run_both), how);
  judge(report, how);
  WorkResult result = rendered(options, world, report);
  if (options.launch.record.empty()) return result;
  const auto kept = write_bundle(redacted(std::move(report.snapshot)), options.launch.record);
  if (!kept) {
    result.message = kept.error().message;
    result.code = exit_code_of(RunEnd::usage, options.exit_style);
  } else {
    const std::string folder = escape_foreign(options.launch.record);
    result.news =
        "kept the recording in " + folder + "; its report: cudart-doctor --from " + folder;
  }
  return result;
}

/// The reverse of exit_code_of in the default style.
RunEnd end_of(int code) {
  for (const RunEnd end : {RunEnd::findings, RunEnd::usage, RunEnd::undecided}) {
    if (exit_code_of(end, ExitStyle::standard) == code) return end;
  }
  return RunEnd::ok;
}

}  // namespace

RunEnd report_launch(const Options& options, const World& world, const JudgeOptions& how,
                     const LaunchFacts& facts) {
  const auto result =
      run_supervised({.deadline = options.timeout}, [&](Progress& progress) -> WorkResult {
        progress.set("write the report of the launch", {});
        try {
          return report_in_worker(options, world, how, facts);
        } catch (const std::exception& error) {
          return failed(options, {ErrorKind::io,
                                  "the report itself failed: " + escape_foreign(error.what()), 0});
        }
      });
  return end_of(deliver(options, world, result ? *result : failed(options, result.error())));
}

}  // namespace cudart_doctor
