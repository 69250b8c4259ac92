#include "cudart_doctor/app/inspection.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/app/allow.hpp"
#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/app/policies.hpp"
#include "cudart_doctor/app/probe.hpp"
#include "cudart_doctor/app/python.hpp"
#include "cudart_doctor/app/self.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/sys/run_both.hpp"

namespace cudart_doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Files that may be left out one after another because they do not answer.
constexpr std::size_t kMaxStalls = 8;
/// A single step is given up after this, or after a third of the time limit if that is shorter.
constexpr milliseconds kStall{5'000};

std::vector<DiskRequest> wanted(const Snapshot& snapshot) {
  std::vector<DiskRequest> all = wanted_by_policies(snapshot);
  for (auto* const ask : {&wanted_by_consumers, &wanted_by_driver, &wanted_by_sonames,
                          &wanted_by_preloads, &wanted_by_nvrtc}) {
    auto more = ask(snapshot);
    all.insert(all.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Result<CaptureOptions> target_of(const Options& options, const World& world) {
  CaptureOptions capture;
  capture.proc_root = world.proc_root;
  if (!options.python.empty()) {
    auto python = absolute_python(options.python);
    if (!python) return tl::unexpected(python.error());
    capture.python = std::move(*python);
  }
  capture.peers = options.peers;
  if (options.pid) {
    capture.pid = *options.pid;
  } else if (options.port) {
    const auto owner = find_listener(*options.port, world.proc_root);
    if (!owner) return tl::unexpected(owner.error());
    capture.pid = owner->pid;
  }
  return capture;
}

WorkResult replayed(const Options& options, const JudgeOptions& how, const Finish& finish) {
  auto snapshot = read_bundle(options.from);
  if (!snapshot) {
    // The folder is part of the command line: a wrong one is a usage error.
    Error error = snapshot.error();
    error.kind = ErrorKind::usage;
    return failed(options, error);
  }
  return finish(identify(std::move(*snapshot), how), how);
}

/// The contents of the files of the command line.
struct Given {
  std::vector<std::string> profiles;
  std::vector<std::string> allow_files;
};

Result<JudgeOptions> judging_of(const Options& options, const Given& given) {
  auto profiles = parse_profiles(options.profiles, given.profiles);
  if (!profiles) return tl::unexpected(profiles.error());
  JudgeOptions judging{.fail_on = options.fail_on,
                       .policy = options.policy,
                       .profiles = std::move(*profiles),
                       .exit_style = options.exit_style,
                       .allowances = options.allow};
  const std::string& rule = options.explain_selection;
  if (rule.starts_with(kProfilePrefix) && find_profile(judging.profiles, rule) == nullptr) {
    return tl::unexpected(unknown_profile("--explain-selection", rule));
  }
  auto more = parse_allow_files(options.allow_files, given.allow_files);
  if (!more) return tl::unexpected(more.error());
  judging.allowances.insert(judging.allowances.end(), std::make_move_iterator(more->begin()),
                            std::make_move_iterator(more->end()));
  return judging;
}

/// Texts as one, each behind its length: they may hold any byte.
std::string packed(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += std::to_string(text.size()) + "\n" + text;
  return out;
}

std::vector<std::string> unpacked(std::string_view bytes) {
  std::vector<std::string> out;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::uint64_t size = parse_unsigned(bytes.substr(0, end), 10).value_or(0);
    out.emplace_back(bytes.substr(end + 1, size));
    bytes.remove_prefix(end + 1 + out.back().size());
  }
  return out;
}

/// The step of read_judging_until. The files are no path of it: they are not left out at another
/// try.
std::string reading_named(const Options& options) {
  std::string step = "read the command line's files";
  for (const auto* const files : {&options.profiles, &options.allow_files}) {
    for (const std::string& file : *files) step += " " + file;
  }
  return step;
}

/// What one attempt has to respect.
struct Attempt {
  const JudgeOptions& how;
  const Recording* recording;         ///< Of `run`, or nullptr.
  int memory;                         ///< As CaptureOptions::memory.
  Clock::time_point end;              ///< Of the whole inspection.
  const std::set<std::string>& skip;  ///< Files that did not answer before.
  Progress& progress;
  const Finish& finish;
};

/// What `snapshot` says of its work.
std::string kept_text(const Snapshot& snapshot, const std::string& directory) {
  const std::string folder = escape_foreign(directory);
  const std::string what = snapshot.environment_only
                               ? "this environment"
                               : "pid " + std::to_string(snapshot.process.pid);
  return "kept " + what + " in " + folder + "; its report: cudart-doctor --from " + folder;
}

/// What the worker does: finds the target, captures it, and finishes the command.
WorkResult work(const Options& options, const World& world, const Attempt& attempt) {
  Progress& progress = attempt.progress;
  // The libraries of --load may have something to say on stderr.
  if (options.load.empty()) give_up_standard_error();
  const JudgeOptions& how = attempt.how;
  if (!options.from.empty()) {
    progress.set("read the snapshot " + options.from, {});
    return replayed(options, how, attempt.finish);
  }
  progress.set("find the process", {});
  auto target = target_of(options, world);
  if (!target) return failed(options, target.error());
  target->skip_paths = attempt.skip;
  target->memory = attempt.memory;
  target->progress = [&progress](std::string_view stage, std::string_view path) {
    progress.set(stage, path);
  };
  target->helper_progress = [helper = progress.helper()](std::string_view stage,
                                                         std::string_view path) mutable {
    helper.set(stage, path);
  };
  const CaptureRules rules = capture_rules(options.depth);
  auto snapshot = target->pid != 0 ? capture_process(*target, rules)
                                   : capture_self({options.load}, *target, rules);
  if (!snapshot) return failed(options, snapshot.error());
  if (attempt.recording != nullptr) snapshot->recording = RecordingFact::known(*attempt.recording);
  progress.set("judge", {});
  Report report = identify(std::move(*snapshot), how, &run_both);
  // No path for the supervisor: a probe that takes long is not to be left out at another try.
  report.snapshot.probe =
      probe_runtimes(report, options.probe,
                     {.proc_root = world.proc_root,
                      .left = std::chrono::duration_cast<milliseconds>(attempt.end - Clock::now()),
                      .progress = [&progress](std::string_view what) { progress.set(what, {}); }});
  if (options.command == Command::snapshot) {
    progress.set("write the snapshot", options.directory);
    const std::string kept = kept_text(report.snapshot, options.directory);
    report = shown(options, std::move(report), how);
    const auto written = write_bundle(redacted(std::move(report.snapshot)), options.directory);
    if (!written) return failed(options, written.error());
    WorkResult result;
    result.news = kept;
    return result;
  }
  progress.set("judge", {});
  return attempt.finish(std::move(report), how);
}

}  // namespace

CaptureRules capture_rules(ScanDepth depth) {
  return {.plan = [depth](const ElfFacts& elf,
                          std::string_view path) { return plan_scan(elf, path, depth); },
          .is_cuda_name = &is_cuda_name,
          .wants_owner = &wants_owner,
          .wanted = &wanted};
}

Report& kept_until_exit(Report report) {
  // In reach of whatever looks for leaks.
  static Report* kept = nullptr;
  kept = std::make_unique<Report>(std::move(report)).release();
  return *kept;
}

Result<JudgeOptions> read_judging_until(const Options& options, Clock::time_point end) {
  if (options.profiles.empty() && options.allow_files.empty()) return judging_of(options, {});
  // By a child: it can be left. What it read is not read again: a pipe gives it once, and a file
  // may not answer the second time.
  const auto read =
      run_within(left_until(end), reading_named(options), [&]() -> Result<std::string> {
        const auto profiles = read_profiles(options.profiles);
        if (!profiles) return tl::unexpected(profiles.error());
        const auto texts = read_allow_files(options.allow_files);
        if (!texts) return tl::unexpected(texts.error());
        return packed(*profiles) + packed(*texts);
      });
  if (!read) return tl::unexpected(read.error());
  Given given;
  given.profiles = unpacked(*read);
  const auto first = given.profiles.begin() + std::ptrdiff_t(options.profiles.size());
  given.allow_files.assign(first, given.profiles.end());
  given.profiles.erase(first, given.profiles.end());
  return judging_of(options, given);
}

milliseconds left_until(Clock::time_point end) {
  return std::max(std::chrono::duration_cast<milliseconds>(end - Clock::now()), milliseconds{1});
}

WorkResult supervised(const Inspection& inspection, const Finish& finish) {
  const auto& [options, world, end, given, recording, memory] = inspection;
  const auto how =
      given != nullptr ? Result<JudgeOptions>(*given) : read_judging_until(options, end);
  if (!how) return failed(options, how.error());
  std::set<std::string> skip;
  while (true) {
    const SuperviseOptions limits{.deadline = left_until(end),
                                  .step_limit = std::min(kStall, options.timeout / 3)};
    Supervisor supervisor;
    auto result = supervisor.run(limits, [&](Progress& progress) {
      try {
        return work(options, world, {*how, recording, memory, end, skip, progress, finish});
      } catch (const std::bad_alloc&) {
        return failed(options, {ErrorKind::limit,
                                "the inspection needs more memory than it may take (512 MiB)", 0});
      } catch (const std::exception& error) {
        return failed(
            options,
            {ErrorKind::io, "the inspection itself failed: " + escape_foreign(error.what()), 0});
      }
    });
    if (result) return std::move(*result);
    const std::string& path = supervisor.last_step().path;
    const bool again = result.error().kind == ErrorKind::timeout && Clock::now() < end &&
                       !path.empty() && skip.size() < kMaxStalls && skip.insert(path).second;
    if (!again) return failed(options, result.error());
    world.note("looking again without what did not answer: " + escape_foreign(path));
  }
}

}  // namespace cudart_doctor
