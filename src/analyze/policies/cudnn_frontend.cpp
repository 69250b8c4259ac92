// cuDNN's front end, built with dynamic loading: it opens the sonames of both majors, so what is
// merely installed counts as much as what is loaded.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 2> kSonames = {"libcudart.so.12", "libcudart.so.13"};
constexpr std::string_view kEnvName = "CUDNN_FRONTEND_CUDART_LIB_NAME";
constexpr std::string_view kBoth = "libcudart.so.12 and libcudart.so.13";

/// The extension that holds the loader's code: its run path is the one that counts.
std::optional<std::size_t> extension(const Snapshot& snapshot) {
  for (const std::size_t object : loaded_objects(snapshot)) {
    const LoadedObject& candidate = snapshot.objects[object];
    const auto& rules = candidate.uses_rules;
    if (std::find(rules.begin(), rules.end(), "cudnn-fe") != rules.end()) return object;
    const std::string_view directory = dir_name(candidate.path());
    if (base_name(directory) == "cudnn" &&
        base_name(candidate.path()).starts_with("_compiled_module.")) {
      return object;
    }
  }
  return std::nullopt;
}

void name_missing(Selection& selection) {
  if (selection.missing.empty()) return;
  selection.error_type = "std::runtime_error";
  selection.error_text = "Unable to find symbol " + selection.missing.front();
}

enum class OnBoth : bool { fails, first_wins };

/// Both sonames are opened in turn; what two hits mean is the vintage's.
Selection probe_both(const Policy& policy, const Snapshot& snapshot, OnBoth on_both) {
  std::vector<LoaderAnswer> answers;
  std::vector<Step> steps;
  for (const std::string_view soname : kSonames) {
    answers.push_back(simulate_dlopen(snapshot, {soname, extension(snapshot)}));
    steps.insert(steps.end(), answers.back().steps.begin(), answers.back().steps.end());
  }
  const auto count = [&](Outcome outcome) {
    return std::count_if(answers.begin(), answers.end(),
                         [&](const LoaderAnswer& answer) { return answer.outcome == outcome; });
  };
  Selection selection;
  const bool first_is_sure = answers[0].outcome == Outcome::selected;
  const bool warns = on_both == OnBoth::first_wins;
  if (count(Outcome::undetermined) > 0 && !(warns && first_is_sure)) {
    selection.outcome = Outcome::undetermined;
    selection.open = OpenOutcome::unknown;
    selection.open_note = "whether both majors open cannot be told";
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto& possible = answers[i].possible;
      selection.possible.insert(selection.possible.end(), possible.begin(), possible.end());
      if (answers[i].outcome == Outcome::selected) selection.possible.emplace_back(kSonames[i]);
    }
  } else if (count(Outcome::selected) == 2 && !warns) {
    selection.outcome = Outcome::multiple;
    selection.error_text = "Multiple libcudart libraries found: " + std::string(kBoth);
  } else if (count(Outcome::selected) == 0) {
    selection.outcome = Outcome::not_found;
    selection.error_text = "Unable to load any libcudart.so.* library.";
  } else {
    const std::size_t taken = first_is_sure ? 0 : 1;
    if (first_is_sure && answers[1].outcome != Outcome::not_found) {
      steps.push_back({std::string(kSonames[1]), StepVerdict::rejected,
                       "cuDNN Frontend warning: Multiple libcudart libraries found: " +
                           std::string(kBoth) + ". Using libcudart.so.12."});
    }
    selection = from_loader_answer(policy, snapshot, answers[taken]);
    selection.chosen_text = std::string(kSonames[taken]);
    name_missing(selection);
  }
  if (!selection.error_text.empty()) selection.error_type = "std::runtime_error";
  selection.policy = std::string(policy.id);
  selection.steps = std::move(steps);
  return selection;
}

Selection decide_throwing(const Policy& policy, const PolicyInput& input) {
  return probe_both(policy, input.snapshot, OnBoth::fails);
}

/// The library that the variable names, and nothing else.
Selection open_named(const Policy& policy, const Snapshot& snapshot, const std::string& name) {
  Selection selection =
      from_loader_answer(policy, snapshot, simulate_dlopen(snapshot, {name, extension(snapshot)}));
  selection.chosen_text = name;
  selection.steps.insert(selection.steps.begin(),
                         {std::string(kEnvName), StepVerdict::taken,
                          "set to " + escape_foreign(name) + ": opened, nothing else is tried"});
  name_missing(selection);
  if (selection.outcome == Outcome::not_found) {
    selection.error_type = "std::runtime_error";
    selection.error_text = "Unable to load libcudart library specified by " +
                           std::string(kEnvName) + " (" + escape_foreign(name) +
                           "): " + selection.error_text;
  }
  return selection;
}

Selection decide_warning(const Policy& policy, const PolicyInput& input) {
  const Environment* environment = input.snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kEnvName);
  if (value != nullptr && !value->empty()) return open_named(policy, input.snapshot, *value);
  Selection selection = probe_both(policy, input.snapshot, OnBoth::first_wins);
  Step step{std::string(kEnvName), StepVerdict::noted, "set but empty: that counts as not set"};
  if (environment == nullptr) {
    step.reason = "would be opened instead; the environment is not known: " +
                  escape_foreign(input.snapshot.environment.reason());
  } else if (value == nullptr) {
    step = {std::string(kEnvName), StepVerdict::rejected, "not set"};
  }
  selection.steps.insert(selection.steps.begin(), std::move(step));
  return selection;
}

std::vector<DiskRequest> wanted_by_probe(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  for (const std::string_view soname : kSonames) {
    const auto more = wanted_by_dlopen(snapshot, {soname, extension(snapshot)});
    wanted.insert(wanted.end(), more.begin(), more.end());
  }
  return wanted;
}

std::vector<DiskRequest> wanted_by_variable(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted = wanted_by_probe(snapshot);
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kEnvName);
  if (value == nullptr || value->empty()) return wanted;
  const auto more = wanted_by_dlopen(snapshot, {*value, extension(snapshot)});
  wanted.insert(wanted.end(), more.begin(), more.end());
  return wanted;
}

}  // namespace

std::vector<Policy> cudnn_frontend_policies() {
  return {
      {.id = "cudnn-frontend-2026-06",
       .consumer = "cudnn-frontend",
       .title = "cuDNN frontend 1.25+",
       .vintage = "1.25.0 (2026-06) and later",
       .source = "cudnn_frontend_shim.h of wheels 1.25.0, 1.29.1, 1.32.0",
       .summary = "CUDNN_FRONTEND_CUDART_LIB_NAME, else dlopen of libcudart.so.12 and .13; with "
                  "both a warning and .12",
       .bound_names = names_cudnn_frontend(),
       .current = true,
       .wanted = wanted_by_variable,
       .decide = decide_warning},
      {.id = "cudnn-frontend",
       .rule = "cudnn-fe",
       .consumer = "cudnn-frontend",
       .title = "cuDNN frontend to 1.24",
       .vintage = "to 1.24.1 (2026-05)",
       .source = "cudnn_frontend_shim.h of wheel 1.24.1",
       .summary = "dlopen of libcudart.so.12 and .13, loaded or merely installed; both is an "
                  "error",
       .bound_names = names_cudnn_frontend(),
       .wanted = wanted_by_probe,
       .decide = decide_throwing}};
}

}  // namespace cudart_doctor
