// What the families of rules share: opening a chosen text, binding names, loader answers.
#include <utility>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// CDLL("") opens the main program: its handle searches the global scope, which cannot be told
/// from outside.
void open_main_program(const Snapshot& snapshot, Selection& selection) {
  selection.object = main_program(snapshot);
  selection.open = OpenOutcome::old_object;
  selection.open_note = "an empty text opens the main program: names come from the global scope";
  selection.missing_known = false;
}

void open_bare_name(const Snapshot& snapshot, Selection& selection) {
  const LoaderAnswer answer =
      simulate_dlopen(snapshot, {selection.chosen_text, ctypes_caller(snapshot)});
  selection.steps.insert(selection.steps.end(), answer.steps.begin(), answer.steps.end());
  selection.object = answer.object;
  selection.disk_path = answer.disk_path;
  selection.open = answer.outcome == Outcome::not_found ? OpenOutcome::fails : answer.open;
  selection.open_note = answer.note;
  selection.possible = answer.possible;
  selection.error_text = answer.error_text;
}

}  // namespace

MissingNames missing_names(const Snapshot& snapshot, const Selection& selection,
                           std::span<const std::string_view> names) {
  switch (selection.open) {
    case OpenOutcome::old_object:
      if (selection.object) return missing_in_object(snapshot, *selection.object, names);
      break;
    case OpenOutcome::new_object:
    case OpenOutcome::loads:
      if (selection.disk_path) return missing_in_file(snapshot, *selection.disk_path, names);
      break;
    case OpenOutcome::not_asked:
    case OpenOutcome::fails:
    case OpenOutcome::unknown: break;
  }
  return {};
}

void check_names(const Policy& policy, const Snapshot& snapshot, Selection& selection) {
  if (selection.outcome != Outcome::selected || policy.bound_names.empty()) return;
  MissingNames missing = missing_names(snapshot, selection, policy.bound_names);
  selection.missing = std::move(missing.names);
  selection.missing_known = missing.known;
}

Selection not_applicable(const Policy& policy, std::string why) {
  Selection selection;
  selection.policy = std::string(policy.id);
  selection.outcome = Outcome::not_applicable;
  selection.open_note = std::move(why);
  return selection;
}

void open_and_bind(const Policy& policy, const Snapshot& snapshot, Selection& selection) {
  const std::string& text = selection.chosen_text;
  if (text.empty()) {
    open_main_program(snapshot, selection);
    return;
  }
  if (text.find('/') == std::string::npos) {
    open_bare_name(snapshot, selection);
  } else {
    OpenResult opened = open_path(snapshot, text);
    // Where the open fails or is not known, the mapped object that was selected stays named.
    if (opened.object) selection.object = opened.object;
    selection.disk_path = std::move(opened.disk_path);
    selection.open = opened.open;
    selection.open_note = std::move(opened.note);
    selection.error_text = std::move(opened.error_text);
  }
  if (selection.open == OpenOutcome::fails) {
    selection.error_type = "OSError";
    return;
  }
  check_names(policy, snapshot, selection);
  if (selection.missing.empty()) return;
  const bool old = selection.open == OpenOutcome::old_object && selection.object;
  // dlerror names the object as the loader knows it.
  const std::string name = old ? loader_name(snapshot, *selection.object) : text;
  selection.error_type = "AttributeError";
  selection.error_text = escape_foreign(name) + ": undefined symbol: " + selection.missing.front();
}

Selection from_loader_answer(const Policy& policy, const Snapshot& snapshot, LoaderAnswer answer) {
  Selection selection;
  selection.policy = std::string(policy.id);
  selection.outcome = answer.outcome;
  selection.object = answer.object;
  selection.disk_path = std::move(answer.disk_path);
  selection.open = answer.open;
  selection.open_note = std::move(answer.note);
  selection.error_text = std::move(answer.error_text);
  selection.possible = std::move(answer.possible);
  selection.steps = std::move(answer.steps);
  check_names(policy, snapshot, selection);
  return selection;
}

}  // namespace cudart_doctor
