// The commands. The inspection itself runs in a supervised worker (docs/adr/0001).
#include "cudart_doctor/app/run.hpp"

#include <chrono>
#include <utility>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/app/diff.hpp"
#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/app/explain.hpp"
#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/launch.hpp"
#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/app/policies.hpp"
#include "cudart_doctor/app/redact.hpp"
#include "cudart_doctor/app/tree.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {
namespace {

using Clock = std::chrono::steady_clock;

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

WorkResult inspected(const Options& options, const World& world) {
  const auto end = Clock::now() + options.timeout;
  return supervised({options, world, end}, [&](Report report, const JudgeOptions& how) {
    Report& kept = kept_until_exit(shown(options, std::move(report), how));
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
  return supervised({options, world, end}, [&](const Report& report, const JudgeOptions& how) {
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
    give_up_standard_error();
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
  const auto read = read_judging_until(options, Clock::now() + options.timeout);
  if (!read) return failed(options, read.error());
  const std::vector<Profile>& profiles = read->profiles;
  PolicyList list{policies(), profiles, not_modelled()};
  if (options.listed.starts_with(kProfilePrefix)) {
    const Profile* const profile = find_profile(profiles, options.listed);
    if (profile == nullptr) return failed(options, unknown_profile("policies", options.listed));
    list = {{}, {profile, 1}, {}};
  } else if (!options.listed.empty()) {
    list = {{find_policy(options.listed), 1}, profiles, {}};
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
    case Command::tree:
    case Command::node: return inspect_many(options, world);
    case Command::run:
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
  if (options.command == Command::run) return launch(options, world);
  return deliver(options, world, result_of(options, world));
}

}  // namespace

int run(const Options& options, const World& world) {
  return run_in(options, options.redact ? without_names(world) : world);
}

}  // namespace cudart_doctor
