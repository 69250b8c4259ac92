// The commands. The inspection itself runs in a supervised worker (docs/adr/0001).
#include "cudart_doctor/app/run.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/app/allow.hpp"
#include "cudart_doctor/app/diff.hpp"
#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/app/explain.hpp"
#include "cudart_doctor/app/formats.hpp"
#include "cudart_doctor/app/policies.hpp"
#include "cudart_doctor/app/probe.hpp"
#include "cudart_doctor/app/python.hpp"
#include "cudart_doctor/app/redact.hpp"
#include "cudart_doctor/app/self.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "cudart_doctor/render/render.hpp"
#include "cudart_doctor/sys/run_both.hpp"
#include "cudart_doctor/sys/supervise.hpp"

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

CaptureRules rules_for(ScanDepth depth) {
  return {.plan = [depth](const ElfFacts& elf,
                          std::string_view path) { return plan_scan(elf, path, depth); },
          .is_cuda_name = &is_cuda_name,
          .wants_owner = &wants_owner,
          .wanted = &wanted};
}

bool colour(const Options& options, const World& world) {
  switch (options.color) {
    case ColorChoice::always: return true;
    case ColorChoice::never: return false;
    case ColorChoice::automatic: return world.colour_by_itself && options.output == "-";
  }
  return false;
}

/// Reads the files that the command line names. Errors: usage.
Result<JudgeOptions> judging(const Options& options) {
  auto profiles = read_profiles(options.profiles);
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
  auto more = read_allow_files(options.allow_files);
  if (!more) return tl::unexpected(more.error());
  judging.allowances.insert(judging.allowances.end(), std::make_move_iterator(more->begin()),
                            std::make_move_iterator(more->end()));
  return judging;
}

TextOptions text_options(const Options& options, const World& world) {
  // 80 unless the terminal is narrower: longer lines are no easier to read.
  const bool to_terminal = world.terminal_columns != 0 && options.output == "-";
  return {.color = colour(options, world) ? Color::on : Color::off,
          .verbose = options.verbose,
          .columns = to_terminal ? std::clamp(world.terminal_columns, kFewestColumns, kMostColumns)
                                 : kMostColumns,
          .explain_selection = options.explain_selection};
}

/// What is made of an identified report; the last step of a command.
using Finish = std::function<WorkResult(Report report, const JudgeOptions& how)>;

/// `report` as it may be shown: as it is, or without names.
Report shown(const Options& options, Report report, const JudgeOptions& how) {
  if (!options.redact) return report;
  Anonymizer names;
  names.learn(report.snapshot);
  return redacted_report(report, names, how);
}

/// `report` is judged.
WorkResult rendered(const Options& options, const World& world, const Report& report) {
  WorkResult result;
  result.code = report.verdict.exit_code;
  result.output = rendered_report(report, options.format, text_options(options, world));
  if (!report.allowances.unused.empty()) {
    result.note = "allowed, but not found: " + join(report.allowances.unused, ", ");
  }
  if (options.annotate == Annotate::github) result.annotations = render_github(report);
  return result;
}

/// `report` is judged; nullptr: nothing was inspected.
WorkResult explained(const Options& options, const World& world, const ExplainPage& page,
                     const Report* report) {
  const int code = exit_code_of(explain_end(page, report), options.exit_style);
  const Explanation explanation{page, report, code};
  WorkResult result;
  result.code = explanation.exit_code;
  result.output = options.format == Format::json
                      ? render_explain_json(explanation)
                      : render_explain_text(explanation, text_options(options, world));
  return result;
}

WorkResult failed(const Options& options, const Error& error) {
  WorkResult result;
  result.code = exit_code_of(end_for(error.kind), options.exit_style);
  result.message = error.message;
  if (options.redact) result.message = redacted_message(error.message);
  const Failure failure{
      {error.kind, result.message, error.sys_errno}, options.exit_style, result.code};
  result.output = rendered_failure(failure, options.format);
  if (options.annotate == Annotate::github) result.annotations = render_error_github(failure);
  return result;
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

/// What one attempt has to respect.
struct Attempt {
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
  progress.set("read the command line's files", {});
  const auto how = judging(options);
  if (!how) return failed(options, how.error());
  if (!options.from.empty()) {
    progress.set("read the snapshot", {});
    return replayed(options, *how, attempt.finish);
  }
  progress.set("find the process", {});
  auto target = target_of(options, world);
  if (!target) return failed(options, target.error());
  target->skip_paths = attempt.skip;
  target->progress = [&progress](std::string_view stage, std::string_view path) {
    progress.set(stage, path);
  };
  target->helper_progress = [helper = progress.helper()](std::string_view stage,
                                                         std::string_view path) mutable {
    helper.set(stage, path);
  };
  const CaptureRules rules = rules_for(options.depth);
  auto snapshot = target->pid != 0 ? capture_process(*target, rules)
                                   : capture_self({options.load}, *target, rules);
  if (!snapshot) return failed(options, snapshot.error());
  progress.set("judge", {});
  Report report = identify(std::move(*snapshot), *how, &run_both);
  // No path for the supervisor: a probe that takes long is not to be left out at another try.
  report.snapshot.probe =
      probe_runtimes(report, options.probe,
                     {.proc_root = world.proc_root,
                      .left = std::chrono::duration_cast<milliseconds>(attempt.end - Clock::now()),
                      .progress = [&progress](std::string_view what) { progress.set(what, {}); }});
  if (options.command == Command::snapshot) {
    progress.set("write the snapshot", options.directory);
    const std::string kept = kept_text(report.snapshot, options.directory);
    report = shown(options, std::move(report), *how);
    const auto written = write_bundle(redacted(std::move(report.snapshot)), options.directory);
    if (!written) return failed(options, written.error());
    WorkResult result;
    result.news = kept;
    return result;
  }
  progress.set("judge", {});
  return attempt.finish(std::move(report), *how);
}

/// What is left until `end`, and never nothing: a deadline of 0 would be none.
milliseconds left_until(Clock::time_point end) {
  return std::max(std::chrono::duration_cast<milliseconds>(end - Clock::now()), milliseconds{1});
}

/// Supervises workers until one finishes, or `end`. A file that does not answer is left out the
/// next time.
WorkResult supervised(const Options& options, const World& world, Clock::time_point end,
                      const Finish& finish) {
  std::set<std::string> skip;
  while (true) {
    const SuperviseOptions limits{.deadline = left_until(end),
                                  .step_limit = std::min(kStall, options.timeout / 3)};
    Supervisor supervisor;
    auto result = supervisor.run(limits, [&](Progress& progress) {
      try {
        return work(options, world, {end, skip, progress, finish});
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

WorkResult inspected(const Options& options, const World& world) {
  const auto end = Clock::now() + options.timeout;
  return supervised(options, world, end, [&](Report report, const JudgeOptions& how) {
    // Never freed: the worker ends behind this, and giving back all the pieces would take its time.
    Report& kept = *std::make_unique<Report>(shown(options, std::move(report), how)).release();
    judge(kept, how);
    return rendered(options, world, kept);
  });
}

/// `page` with the stand-ins of `names`: a log quotes what it was written about.
ExplainPage redacted_page(ExplainPage page, Anonymizer& names) {
  if (auto* log = std::get_if<LogPage>(&page)) {
    for (Symptom& symptom : log->answer.symptoms) symptom.text = names.replaced(symptom.text);
  }
  return page;
}

/// What --redact has to find stand-ins for in an explanation; `report` may be nullptr.
Anonymizer names_in(const ExplainPage& page, const Report* report) {
  Anonymizer names;
  if (report != nullptr) names.learn(report->snapshot);
  if (const auto* log = std::get_if<LogPage>(&page)) {
    for (const Symptom& symptom : log->answer.symptoms) names.learn(symptom.text);
  }
  return names;
}

/// `report` is identified; nullptr: nothing was inspected.
WorkResult answered(const Options& options, const World& world, const ExplainPage& page,
                    const Report* report, const JudgeOptions& how) {
  Anonymizer names;
  if (options.redact) names = names_in(page, report);
  const ExplainPage told = options.redact ? redacted_page(page, names) : page;
  if (report == nullptr) return explained(options, world, told, nullptr);
  Report looked_at = options.redact ? redacted_report(*report, names, how) : *report;
  judge(looked_at, how);
  return explained(options, world, told, &looked_at);
}

WorkResult explain(const Options& options, const World& world) {
  const auto end = Clock::now() + options.timeout;
  const auto page = read_page(options, world, end);
  if (!page) return failed(options, page.error());
  if (!options.names_target()) return answered(options, world, *page, nullptr, {});
  return supervised(options, world, end, [&](const Report& report, const JudgeOptions& how) {
    return answered(options, world, *page, &report, how);
  });
}

WorkResult compared(const Options& options, const World& world, const Comparison& comparison) {
  WorkResult result;
  result.code =
      exit_code_of(comparison.equal() ? RunEnd::ok : RunEnd::findings, options.exit_style);
  result.output = options.format == Format::json
                      ? render_diff_json(comparison, result.code)
                      : render_diff_text(comparison, text_options(options, world));
  return result;
}

/// Files of others are read in a worker too: they may block, or be more than memory holds.
WorkResult diff(const Options& options, const World& world) {
  const auto end = Clock::now() + options.timeout;
  const auto piped = read_piped(options, world, end);
  if (!piped) return failed(options, piped.error());
  auto result = run_supervised({.deadline = left_until(end)}, [&](Progress& progress) {
    const auto comparison = compare_named(options, *piped, progress);
    return comparison ? compared(options, world, *comparison) : failed(options, comparison.error());
  });
  return result ? std::move(*result) : failed(options, result.error());
}

WorkResult output_only(std::string output) {
  WorkResult result;
  result.output = std::move(output);
  return result;
}

WorkResult listed(const Options& options, const World& world) {
  const auto profiles = read_profiles(options.profiles);
  if (!profiles) return failed(options, profiles.error());
  PolicyList list{policies(), *profiles, not_modelled()};
  if (options.listed.starts_with(kProfilePrefix)) {
    const Profile* const profile = find_profile(*profiles, options.listed);
    if (profile == nullptr) return failed(options, unknown_profile("policies", options.listed));
    list = {{}, {profile, 1}, {}};
  } else if (!options.listed.empty()) {
    list = {{find_policy(options.listed), 1}, *profiles, {}};
  }
  return output_only(options.format == Format::json
                         ? render_policies_json(list)
                         : render_policies_text(list, text_options(options, world).columns));
}

WorkResult result_of(const Options& options, const World& world) {
  switch (options.command) {
    case Command::json_schema: return output_only(std::string(json_schema()));
    case Command::policies: return listed(options, world);
    case Command::explain: return explain(options, world);
    case Command::diff: return diff(options, world);
    case Command::snapshot:
    case Command::inspect: break;
  }
  return inspected(options, world);
}

/// `world` whose lines on stderr have no names. Annotations are made of what has none already.
World without_names(World world) {
  for (auto* const say : {&world.complain, &world.note, &world.tell}) {
    *say = [inner = std::move(*say)](std::string_view message) {
      inner(redacted_message(message));
    };
  }
  return world;
}

int run_in(const Options& options, const World& world) {
  const WorkResult result = result_of(options, world);
  if (!result.message.empty()) world.complain(result.message);
  if (!result.news.empty()) world.tell(result.news);
  if (!result.note.empty()) world.note(result.note);
  if (!result.annotations.empty()) world.annotate(result.annotations);
  if (result.output.empty()) return result.code;
  const auto written = world.write_output(options.output, result.output);
  if (written) return result.code;
  world.complain(written.error().message);
  return exit_code_of(RunEnd::usage, options.exit_style);
}

}  // namespace

int run(const Options& options, const World& world) {
  return run_in(options, options.redact ? without_names(world) : world);
}

}  // namespace cudart_doctor
