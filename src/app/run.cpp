// The commands. The inspection itself runs in a supervised worker (docs/adr/0001).
#include "cudart_doctor/app/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <iterator>
#include <set>

#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/app/explain.hpp"
#include "cudart_doctor/app/probe.hpp"
#include "cudart_doctor/app/redact.hpp"
#include "cudart_doctor/app/self.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/render/render.hpp"
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

JudgeOptions judging(const Options& options) {
  return {.fail_on = options.fail_on, .policy = options.policy};
}

TextOptions text_options(const Options& options, const World& world) {
  return {.color = colour(options, world) ? Color::on : Color::off, .verbose = options.verbose};
}

/// What is made of an identified report; the last step of a command.
using Finish = std::function<WorkResult(Report report)>;

/// The report in the format asked for; `report` is judged.
std::string in_format(const Options& options, const World& world, const Report& report) {
  switch (options.format) {
    case Format::text: return render_text(report, text_options(options, world));
    case Format::json: return render_json(report);
    case Format::markdown: return render_markdown(report);
    case Format::html: return render_html(report);
  }
  return {};
}

/// `report` as it may be shown: as it is, or without names.
Report shown(const Options& options, Report report) {
  if (!options.redact) return report;
  Anonymizer names;
  names.learn(report.snapshot);
  return redacted_report(report, names, judging(options));
}

WorkResult rendered(const Options& options, const World& world, Report report) {
  report = shown(options, std::move(report));
  judge(report, judging(options));
  WorkResult result;
  result.code = report.verdict.exit_code;
  result.output = in_format(options, world, report);
  return result;
}

/// `report` is judged; nullptr: nothing was inspected.
WorkResult explained(const Options& options, const World& world, const ExplainPage& page,
                     const Report* report) {
  const Explanation explanation{page, report, explain_exit_code(page, report)};
  WorkResult result;
  result.code = explanation.exit_code;
  result.output = options.format == Format::json
                      ? render_explain_json(explanation)
                      : render_explain_text(explanation, text_options(options, world));
  return result;
}

WorkResult failed(const Options& options, const Error& error) {
  WorkResult result;
  result.code = exit_code_for(error.kind);
  result.message = error.message;
  if (options.redact) {
    Anonymizer names;
    names.learn(error.message);
    result.message = names.replaced(error.message);
  }
  if (options.format == Format::json) {
    result.output = render_error_json({error.kind, result.message, error.sys_errno}, result.code);
  }
  return result;
}

Result<CaptureOptions> target_of(const Options& options, const World& world) {
  if (!options.python.empty() && ::access(options.python.c_str(), F_OK) != 0) {
    return fail(ErrorKind::usage,
                "--python " + escape_foreign(options.python) + ": " + std::strerror(errno));
  }
  CaptureOptions capture;
  capture.proc_root = world.proc_root;
  capture.python = options.python;
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

WorkResult replayed(const Options& options, const Finish& finish) {
  auto snapshot = read_bundle(options.from);
  if (!snapshot) {
    // The folder is part of the command line: a wrong one is a usage error.
    Error error = snapshot.error();
    error.kind = ErrorKind::usage;
    return failed(options, error);
  }
  return finish(identify(std::move(*snapshot), judging(options)));
}

/// What one attempt has to respect.
struct Attempt {
  Clock::time_point end;              ///< Of the whole inspection.
  const std::set<std::string>& skip;  ///< Files that did not answer before.
  Progress& progress;
  const Finish& finish;
};

/// What the worker does: finds the target, captures it, and finishes the command.
WorkResult work(const Options& options, const World& world, const Attempt& attempt) {
  Progress& progress = attempt.progress;
  if (!options.from.empty()) {
    progress.set("read the snapshot", {});
    return replayed(options, attempt.finish);
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
  Report report = identify(std::move(*snapshot), judging(options));
  // No path for the supervisor: a probe that takes long is not to be left out at another try.
  report.snapshot.probe =
      probe_runtimes(report, options.probe,
                     {.proc_root = world.proc_root,
                      .left = std::chrono::duration_cast<milliseconds>(attempt.end - Clock::now()),
                      .progress = [&progress](std::string_view what) { progress.set(what, {}); }});
  if (options.command == Command::snapshot) {
    progress.set("write the snapshot", options.directory);
    report = shown(options, std::move(report));
    const auto written = write_bundle(redacted(std::move(report.snapshot)), options.directory);
    return written ? WorkResult{} : failed(options, written.error());
  }
  progress.set("judge", {});
  return attempt.finish(std::move(report));
}

/// Supervises workers until one finishes. A file that does not answer is left out the next time.
WorkResult supervised(const Options& options, const World& world, const Finish& finish) {
  const auto end = Clock::now() + options.timeout;
  std::set<std::string> skip;
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
    const SuperviseOptions limits{.deadline = std::max(left, milliseconds{1}),
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
  return supervised(options, world,
                    [&](Report report) { return rendered(options, world, std::move(report)); });
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
                    const Report* report) {
  Anonymizer names;
  if (options.redact) names = names_in(page, report);
  const ExplainPage told = options.redact ? redacted_page(page, names) : page;
  if (report == nullptr) return explained(options, world, told, nullptr);
  Report looked_at = options.redact ? redacted_report(*report, names, judging(options)) : *report;
  judge(looked_at, judging(options));
  return explained(options, world, told, &looked_at);
}

WorkResult explain(const Options& options, const World& world) {
  const auto page = read_page(options, world);
  if (!page) return failed(options, page.error());
  if (!options.names_target()) return answered(options, world, *page, nullptr);
  return supervised(options, world,
                    [&](const Report& report) { return answered(options, world, *page, &report); });
}

WorkResult result_of(const Options& options, const World& world) {
  switch (options.command) {
    case Command::json_schema:
      return {.output = std::string(json_schema()), .message = {}, .code = kExitOk};
    case Command::policies:
      return {.output = render_policies(options.format), .message = {}, .code = kExitOk};
    case Command::explain: return explain(options, world);
    case Command::snapshot:
    case Command::inspect: break;
  }
  return inspected(options, world);
}

}  // namespace

int run(const Options& options, const World& world) {
  const WorkResult result = result_of(options, world);
  if (!result.message.empty()) world.complain(result.message);
  if (result.output.empty()) return result.code;
  const auto written = world.write_output(options.output, result.output);
  if (written) return result.code;
  world.complain(written.error().message);
  return kExitUsage;
}

}  // namespace cudart_doctor
