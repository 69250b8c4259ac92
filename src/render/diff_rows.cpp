#include "render/diff_rows.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/diff_words.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxRows = 8;  // Of an area, unless verbose.
constexpr std::size_t kRowLines = 4;
constexpr std::size_t kRowColumn = 6;  // Behind " new  ".

struct AreaWords {
  std::string_view heading;
  std::string_view noun;  ///< For counts.
};

constexpr std::array<AreaWords, 11> kWords = {{{"VERDICT", "verdict"},
                                               {"FINDINGS", "finding"},
                                               {"RUNTIMES", "runtime"},
                                               {"ORDER", "order"},
                                               {"LOADS", "load"},
                                               {"WHO TAKES WHAT", "rule"},
                                               {"CONSUMERS", "consumer"},
                                               {"DRIVER", "driver part"},
                                               {"ENVIRONMENT", "variable"},
                                               {"PROBE", "probe result"},
                                               {"NAMESPACES", "namespace"}}};

const AreaWords& words_of(Area area) { return kWords[static_cast<std::size_t>(area)]; }

/// All that changed of one subject, and how many others changed alike.
struct Row {
  ChangeKind kind = ChangeKind::changed;
  std::string subject;
  std::string what;
  std::size_t alike = 0;
};

/// One row for each subject; rules that changed in the same way share one.
std::vector<Row> rows_of(const std::vector<const Change*>& changes) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < changes.size();) {
    const Change& first = *changes[i];
    std::vector<const Change*> of_one{&first};
    for (++i; i < changes.size() && changes[i]->kind == ChangeKind::changed &&
              first.kind == ChangeKind::changed && changes[i]->subject == first.subject;
         ++i) {
      of_one.push_back(changes[i]);
    }
    Row row{first.kind, printable(first.subject), words_of_changes(of_one)};
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& other) {
      return first.area == Area::selections && other.kind == row.kind && other.what == row.what;
    });
    if (same == rows.end()) {
      rows.push_back(std::move(row));
    } else {
      ++same->alike;
    }
  }
  return rows;
}

std::string_view row_word(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added: return "new";
    case ChangeKind::removed: return "gone";
    case ChangeKind::changed: return "now";
    case ChangeKind::not_compared: return "????";
  }
  return {};
}

std::string row_text(Area area, const Row& row) {
  // The severity stands before what is found.
  if (area == Area::findings && row.kind != ChangeKind::changed) {
    return row.what + " " + row.subject;
  }
  std::string out = row.subject;
  if (out.ends_with('.')) out.pop_back();
  if (row.alike != 0) out += " and " + count_of(row.alike, "other rule");
  return out + ": " + row.what;
}

void write_area(TextWriter& writer, Area area, const std::vector<Row>& rows) {
  writer.line(words_of(area).heading);
  const std::size_t most = writer.verbose() ? rows.size() : kMaxRows;
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    writer.entry({.before = " " + pad(row_word(rows[i].kind), kRowColumn - 1), .hang = kRowColumn},
                 row_text(area, rows[i]), kRowLines);
  }
  if (rows.size() > most) {
    writer.line(std::string(kRowColumn, ' ') + std::to_string(rows.size() - most) +
                " more with -v");
  }
}

std::map<Area, std::vector<Row>> rows_by_area(const std::vector<Change>& changes) {
  std::map<Area, std::vector<const Change*>> sorted;
  for (const Change& change : changes) sorted[change.area].push_back(&change);
  std::map<Area, std::vector<Row>> out;
  for (const auto& [area, list] : sorted) out.emplace(area, rows_of(list));
  return out;
}

}  // namespace

std::string_view noun_of(Area area) { return words_of(area).noun; }

void write_changes(TextWriter& writer, const std::vector<Change>& changes) {
  for (const auto& [area, rows] : rows_by_area(changes)) {
    // The first line has said it.
    if (area != Area::verdict) write_area(writer, area, rows);
  }
}

std::string summary_of(const std::vector<Change>& changes) {
  std::string out;
  for (const auto& [area, rows] : rows_by_area(changes)) {
    if (area == Area::verdict) continue;
    std::size_t count = 0;
    for (const Row& row : rows) count += 1 + row.alike;
    out += out.empty() ? "" : ", ";
    const bool whole = area == Area::order || rows.front().kind == ChangeKind::not_compared;
    out += whole ? std::string(name_of(area)) : count_of(count, words_of(area).noun);
  }
  return out.empty() ? "the verdict alone" : out;
}

}  // namespace cudart_doctor
