// WHO TAKES WHAT: one row a rule, of the consumers that are there.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxTitle = 26;

std::string where_of(const Report& report, const Selection& selection,
                     const std::vector<std::string>& refs) {
  if (const auto index = candidate_of(report, selection)) return refs[*index];
  switch (selection.outcome) {
    case Outcome::none:
    case Outcome::not_found: return "NONE";
    case Outcome::undetermined: return "?";
    case Outcome::multiple: return "TWO";
    case Outcome::selected: return selection.object ? "other" : "file";
    case Outcome::unexpected_filename:
    case Outcome::no_path:
    case Outcome::aborts:
    case Outcome::not_applicable: break;
  }
  return "-";
}

/// "it is no CUDA runtime (shim)": that it opens and is complete does not make it one.
std::string disguise(const Report& report, const Selection& selection) {
  const auto index = candidate_of(report, selection);
  if (!index) return {};
  switch (report.candidates[*index].kind) {
    case RuntimeKind::stub: return "but it is no CUDA runtime (stub)";
    case RuntimeKind::shim: return "but it is no CUDA runtime (shim)";
    case RuntimeKind::stand_in: return "but it is no CUDA runtime (stand-in)";
    case RuntimeKind::not_a_runtime: return "but it is no CUDA runtime";
    case RuntimeKind::genuine:
    case RuntimeKind::static_copy:
    case RuntimeKind::undetermined: break;
  }
  return {};
}

/// The letter of the runtime with this path, else the text in short.
std::string short_answer(const Report& report, const std::string& answer,
                         const std::vector<std::string>& refs) {
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (candidate.path == answer && candidate.kind != RuntimeKind::static_copy) return refs[i];
  }
  return cut_middle(escape_foreign(base_name(answer)), 30);
}

std::string outcome_text(Outcome outcome) {
  switch (outcome) {
    case Outcome::none: return "no line of maps matches";
    case Outcome::not_found: return "the loader finds none";
    case Outcome::unexpected_filename: return "stops at an unexpected file name";
    case Outcome::no_path: return "the line that matches has no path";
    case Outcome::multiple: return "two majors open";
    case Outcome::aborts: return "aborts the process";
    case Outcome::not_applicable: return "does not apply here";
    case Outcome::undetermined: return "cannot be decided from outside";
    case Outcome::selected: break;
  }
  return {};
}

/// Why the rule ends without an answer: its own word, where it has one.
std::string nothing_text(const Selection& selection) {
  const bool told = selection.outcome == Outcome::none && !selection.open_note.empty();
  return told ? printable(selection.open_note) : outcome_text(selection.outcome);
}

std::string failure_text(const Selection& selection) {
  if (!selection.missing.empty()) {
    const std::size_t more = selection.missing.size() - 1;
    return "undefined symbol: " + escape_foreign(selection.missing.front()) +
           (more == 0 ? "" : " (and " + std::to_string(more) + " more)");
  }
  if (!selection.error_text.empty()) {
    // The loader's message begins with the path, which stands under RUNTIMES.
    std::string_view error = selection.error_text;
    const std::string path = escape_foreign(selection.chosen_text) + ": ";
    if (error.starts_with(path)) error.remove_prefix(path.size());
    return printable(error);
  }
  if (!selection.open_note.empty()) return printable(selection.open_note);
  if (selection.open == OpenOutcome::fails) return "cannot be opened";
  return outcome_text(selection.outcome);
}

std::string unproven_text(const Report& report, const Selection& selection,
                          const std::vector<std::string>& refs) {
  if (selection.outcome == Outcome::undetermined) {
    std::vector<std::string> between;
    for (const auto& answer : selection.possible) {
      between.push_back(short_answer(report, answer, refs));
    }
    return between.empty() ? outcome_text(selection.outcome) : "one of " + join(between, ", ");
  }
  if (selection.open == OpenOutcome::unknown || selection.open == OpenOutcome::not_asked) {
    return "whether it opens is not known" +
           (selection.open_note.empty() ? "" : ": " + printable(selection.open_note));
  }
  if (!selection.unrecorded.empty()) {
    return "not recorded, being none of CUDA's names: " +
           escape_foreign(selection.unrecorded.front()) +
           (selection.unrecorded.size() == 1
                ? ""
                : " and " + std::to_string(selection.unrecorded.size() - 1) + " more");
  }
  return "its symbols could not be read";
}

std::string order_mark(const Report& report, const Selection& selection,
                       const std::vector<std::string>& refs) {
  if (selection.stability != Stability::order_dependent) return {};
  std::vector<std::string> others;
  for (const auto& answer : selection.other_answers) {
    others.push_back(short_answer(report, answer, refs));
  }
  // One word, so that it is never broken.
  return others.empty() ? " [order]" : " [order:" + join(others, ",") + "]";
}

/// That nobody can say whether the consumer is here, or that it is not.
std::string presence_mark(const Report& report, const Selection& selection) {
  if (selection.presence == Presence::present) return {};
  if (selection.policy == report.headline_policy) return " [assumed]";
  const bool open = !selection.consumer.empty() && selection.presence == Presence::unknown;
  return open ? " [if here]" : "";
}

}  // namespace

AnswerRow answer_row(const Report& report, const Selection& selection,
                     const std::vector<std::string>& refs) {
  AnswerRow row{.selection = &selection,
                .title = selection_title(report, selection),
                .where = where_of(report, selection, refs)};
  switch (result_of(selection)) {
    case AnswerResult::ok:
      row.result = "ok";
      row.tone = Tone::good;
      if (const std::string what = disguise(report, selection); !what.empty()) {
        row.result = "opens";
        row.tone = Tone::notice;
        row.why = ", " + what;
        break;
      }
      if (selection.open == OpenOutcome::new_object) row.why = ", but maps a second object";
      if (selection.open == OpenOutcome::loads) row.why = ", loaded anew from disk";
      if (row.where == "other") {
        row.why = ", " + escape_foreign(base_name(object_of(report, selection.object)->path()));
      }
      if (selection.preload) row.why += ", a preload";
      break;
    case AnswerResult::fails:
      row.result = "FAIL";
      row.tone = Tone::bad;
      row.why = " " + failure_text(selection);
      break;
    case AnswerResult::unproven:
      row.result = "?";
      row.tone = Tone::notice;
      row.why = " " + unproven_text(report, selection, refs);
      break;
    case AnswerResult::nothing:
      row.result = "-";
      row.why = " " + (selection.preload && selection.outcome == Outcome::none
                           ? std::string("opens nothing")
                           : nothing_text(selection));
      break;
  }
  // In front, so that no long reason pushes it out.
  row.why = presence_mark(report, selection) + row.why + order_mark(report, selection, refs);
  return row;
}

namespace {

/// A rule of a consumer that nobody can say is here, and that would fail if it were.
bool may_fail(const Selection& selection) {
  return !selection.consumer.empty() && selection.presence == Presence::unknown &&
         result_of(selection) == AnswerResult::fails;
}

/// Whether the rule ends elsewhere than the headline's.
bool ends_elsewhere(const Report& report, const Selection& selection) {
  const Selection* headline = headline_selection(report);
  return headline != nullptr && candidate_of(report, selection) != candidate_of(report, *headline);
}

/// A preload, or a rule that asks for one name only (the version): it tells something only where
/// it brings another runtime.
bool is_minor(const Selection& selection) {
  return selection.preload || (selection.bound == 1 && !selection.consumer.empty());
}

/// Present consumers in their vintage, the headline's rule, and loader rules that find something
/// but fail, depend on the order or end elsewhere than the headline.
bool is_telling(const Report& report, const Selection& selection) {
  if (selection.policy == report.headline_policy) return true;
  if (selection.outcome == Outcome::not_applicable) return false;
  const AnswerResult result = result_of(selection);
  if (selection.presence == Presence::present) {
    return !is_minor(selection) ||
           (result != AnswerResult::nothing && ends_elsewhere(report, selection));
  }
  if (!selection.consumer.empty() || selection.presence == Presence::absent) return false;
  // A name that is found nowhere matters only if somebody wants it: that is a finding.
  if (result == AnswerResult::nothing || selection.outcome == Outcome::not_found) return false;
  if (result != AnswerResult::ok || selection.stability == Stability::order_dependent) return true;
  return ends_elsewhere(report, selection);
}

}  // namespace

std::vector<const Selection*> telling_selections(const Report& report, std::size_t most_unknown) {
  std::vector<const Selection*> told;
  std::size_t unknown = 0;
  for (const Selection& selection : report.selections) {
    if (is_telling(report, selection) || (may_fail(selection) && ++unknown <= most_unknown)) {
      told.push_back(&selection);
    }
  }
  return told;
}

namespace {

/// Rules that are not shown, and whether one of them would fail if its consumer ran here.
void write_hidden(TextWriter& writer, const std::vector<const Selection*>& hidden) {
  if (hidden.empty()) return;
  const auto failing = static_cast<std::uint64_t>(
      std::count_if(hidden.begin(), hidden.end(),
                    [](const Selection* selection) { return may_fail(*selection); }));
  std::string text = count_of(hidden.size(), "other rule") + " with -v";
  if (failing != 0) {
    text += failing == 1
                ? "; 1 would fail if its consumer ran here"
                : "; " + std::to_string(failing) + " would fail if their consumers ran here";
  }
  writer.entry({.before = " ", .hang = 3}, text);
}

}  // namespace

/// The headline's rule first, then what fails, then the others.
std::vector<const Selection*> answers_in(const Report& report, const Room& room) {
  auto told = telling_selections(report, room.unknown_rules);
  if (told.size() <= room.answers) return told;
  const auto rank = [&](const Selection* selection) {
    if (selection->policy == report.headline_policy) return 0;
    return result_of(*selection) == AnswerResult::fails ? 1 : 2;
  };
  std::ranges::stable_sort(told, {}, rank);
  told.resize(room.answers);
  return told;
}

void write_answers(TextWriter& writer, const Report& report) {
  if (report.selections.empty()) return;
  const auto refs = candidate_refs(report);
  const auto told = answers_in(report, writer.room());
  std::vector<AnswerRow> rows;
  std::vector<const Selection*> hidden;
  for (const Selection& selection : report.selections) {
    if (writer.verbose() || std::find(told.begin(), told.end(), &selection) != told.end()) {
      rows.push_back(answer_row(report, selection, refs));
      rows.back().title = cut_end(rows.back().title, kMaxTitle);
    } else {
      hidden.push_back(&selection);
    }
  }
  std::size_t title_width = 0;
  std::size_t where_width = 0;
  for (const AnswerRow& row : rows) {
    title_width = std::max(title_width, display_width(row.title));
    where_width = std::max(where_width, display_width(row.where));
  }
  writer.title("WHO TAKES WHAT");
  for (const AnswerRow& row : rows) {
    const Lead lead{
        .before = " " + pad(row.title, title_width) + "  " + pad(row.where, where_width) + "  ",
        .word = row.result,
        .tone = row.tone,
        .after = row.why.starts_with(' ') ? " " : "",
        .hang = title_width + where_width + 5};
    const std::string why(trim(row.why));
    // The loader's errors begin with paths and end with what is wrong.
    writer.entry(lead, writer.verbose() ? why : with_short_paths(why), writer.room().reason_lines);
  }
  write_hidden(writer, hidden);
}

}  // namespace cudart_doctor
