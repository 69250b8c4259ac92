#include "render/diff_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cudart_doctor/base/text.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

struct Word {
  std::string_view attribute;
  std::string_view value;
  std::string_view words;
};

/// Values whose names in JSON are none of a text report.
constexpr std::array kWords{
    Word{"presence", "absent", "not here"},
    Word{"presence", "present", "here"},
    Word{"presence", "unknown", "perhaps here"},
    Word{"place", "on disk only", "only on disk"},
    Word{"file", "same", "unchanged"},
    Word{"file", "deleted", "DELETED (its file is gone)"},
    Word{"file", "replaced", "REPLACED (another file is at its path)"},
    Word{"file", "differs", "not the one at its path"},
    Word{"file", "absent", "not at its path"},
    Word{"file", "memory", "memory only"},
    Word{"file", "unknown", "not known"},
    Word{"outcome", "none", "no line of maps matches"},
    Word{"outcome", "not_found", "the loader finds none"},
    Word{"outcome", "selected", "takes one"},
    Word{"outcome", "unexpected_filename", "stops at an unexpected file name"},
    Word{"outcome", "no_path", "the line that matches has no path"},
    Word{"outcome", "multiple", "two majors open"},
    Word{"outcome", "aborts", "aborts the process"},
    Word{"outcome", "not_applicable", "does not apply"},
    Word{"outcome", "undetermined", "cannot be decided from outside"},
    Word{"outcome", "works", "works"},
    Word{"outcome", "does_not", "does not work"},
    Word{"result", "nothing", "takes nothing"},
    Word{"stability", "stable", "the same in any order of addresses"},
    Word{"stability", "order_dependent", "another in another order of addresses"},
    Word{"stability", "not_by_address", "not by address"},
};

std::string value_words(const std::string& attribute, const std::string& value) {
  const auto* const found = std::ranges::find_if(
      kWords, [&](const Word& word) { return word.attribute == attribute && word.value == value; });
  if (found != kWords.end()) return std::string(found->words);
  // "driver_stub", "stand_in", "not_run"
  const bool enumerated = attribute == "kind" || attribute == "outcome" || attribute == "stage" ||
                          attribute == "result" || attribute == "stability";
  // Of an error the end tells most, and lines are few.
  std::string out = attribute == "error" ? with_short_paths(printable(value)) : printable(value);
  if (enumerated) std::ranges::replace(out, '_', ' ');
  return out;
}

std::string side_words(const std::string& attribute, const std::optional<Attribute>& side) {
  if (!side) return "none";
  return side->known ? value_words(attribute, side->value)
                     : "not known (" + printable(side->value) + ")";
}

bool is_of(const std::vector<const Change*>& changes, std::string_view attribute) {
  return std::ranges::any_of(
      changes, [attribute](const Change* change) { return change->attribute == attribute; });
}

int rank_of(std::string_view severity) {
  constexpr std::array<std::string_view, 5> kRanks = {"", "info", "warning", "error", "critical"};
  const auto found = std::find(kRanks.begin(), kRanks.end(), severity);
  return static_cast<int>(found - kRanks.begin());
}

std::string worst_of(const ReportDigest& digest) {
  std::string out = digest.worst.empty() ? "no finding" : printable(digest.worst);
  if (digest.undecided) out += ", undecided";
  return out;
}

/// Whether it follows from another of `changes`.
bool follows(const Change& change, const std::vector<const Change*>& changes) {
  if (change.attribute == "file") return is_of(changes, "place");
  if (change.area != Area::selections || change.attribute != "outcome") return false;
  return is_of(changes, "takes") || is_of(changes, "result");
}

std::string changed_words(const Change& change) {
  const std::string& name = change.attribute;
  const std::string before = side_words(name, change.before);
  const std::string after = side_words(name, change.after);
  if (name == "presence" || name == "place") return "was " + before + ", is " + after + " now";
  if (name == "outcome" || name == "loaded") return before + " -> " + after;
  if (name == "stability") return "what it takes: " + before + " -> " + after;
  if (name == "for") return "on behalf of " + before + " -> " + after;
  return (name == "file" ? "its file" : printable(name)) + " " + before + " -> " + after;
}

std::string words_of_change(const Change& change) {
  const auto alone = [](const std::optional<Attribute>& side) {
    return side_words(side ? side->name : std::string(), side);
  };
  switch (change.kind) {
    case ChangeKind::added: return alone(change.after);
    case ChangeKind::removed: return alone(change.before);
    case ChangeKind::changed: return changed_words(change);
    case ChangeKind::not_compared: return alone(change.before) + " -> " + alone(change.after);
  }
  return {};
}

}  // namespace

std::string words_of_changes(const std::vector<const Change*>& changes) {
  std::string out;
  for (const Change* const change : changes) {
    if (follows(*change, changes)) continue;
    out.append(out.empty() ? "" : "; ").append(words_of_change(*change));
  }
  return out;
}

std::string verdict_phrase(const ReportDigest& before, const ReportDigest& after) {
  const int change = rank_of(after.worst) - rank_of(before.worst);
  if (change == 0 && before.undecided == after.undecided) {
    return "same verdict (" + worst_of(after) + ")";
  }
  const std::string_view word = change > 0 ? "worse, " : change < 0 ? "better, " : "";
  return std::string(word) + worst_of(after) + " instead of " + worst_of(before);
}

bool tells_of_more_than_info(const ReportDigest& digest) {
  return rank_of(digest.worst) > rank_of("info");
}

const std::string* taken_by(const ReportDigest& digest, const std::string& policy) {
  for (const Trait& trait : digest.traits) {
    if (trait.area != Area::selections || trait.keys[1] != policy) continue;
    for (const Attribute& each : trait.attributes) {
      if (each.name == "takes" && each.known) return &each.value;
    }
  }
  return nullptr;
}

}  // namespace cudart_doctor
