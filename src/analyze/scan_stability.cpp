#include "cudart_doctor/analyze/scan_stability.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace cudart_doctor {
namespace {

/// What makes lines belong together: the file object, or a pseudo name where there is no file.
using GroupKey = std::pair<FileKey, std::string_view>;

GroupKey key_of(const MapsTable& maps, std::uint32_t row) {
  const Mapping& mapping = maps.rows[row];
  if (mapping.file.is_file()) return {mapping.file, {}};
  return {FileKey{}, maps.path(mapping)};
}

std::vector<PythonLine> with_first(const MapsTable& maps, std::span<const PythonLine> lines,
                                   const GroupKey& first) {
  std::vector<PythonLine> moved;
  std::vector<PythonLine> rest;
  for (const PythonLine& line : lines) {
    (key_of(maps, line.row) == first ? moved : rest).push_back(line);
  }
  moved.insert(moved.end(), rest.begin(), rest.end());
  return moved;
}

}  // namespace

std::string_view outcome_words(Outcome outcome) {
  switch (outcome) {
    case Outcome::selected: return "selected";
    case Outcome::none: return "nothing found";
    case Outcome::unexpected_filename: return "assertion on the file name fails";
    case Outcome::no_path: return "ValueError: no path in the line";
    case Outcome::not_found: return "not found by the loader";
    case Outcome::multiple: return "more than one major";
    case Outcome::aborts: return "abort()";
    case Outcome::undetermined: return "cannot be told";
    case Outcome::not_applicable: return "does not apply";
  }
  return "";
}

ScanStability judge_stability(const MapsTable& maps, std::span<const PythonLine> lines,
                              ScanRule rule) {
  using Identity = std::pair<Outcome, std::optional<GroupKey>>;
  const auto identity = [&](const ScanAnswer& answer) -> Identity {
    if (!answer.row) return {answer.outcome, std::nullopt};
    return {answer.outcome, key_of(maps, *answer.row)};
  };
  std::vector<GroupKey> groups;
  std::map<GroupKey, bool> seen;
  for (const PythonLine& line : lines) {
    const GroupKey key = key_of(maps, line.row);
    if (seen.emplace(key, true).second) groups.push_back(key);
  }
  // No rule takes a line without the library's name: others change an answer in no order.
  std::vector<PythonLine> named;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(named), [](const PythonLine& line) {
    return line.text.find("libcudart") != std::string_view::npos;
  });
  StepLog ignored(StepLog::Mode::discard);
  ScanStability result;
  std::vector<Identity> known = {identity(rule(named, ignored))};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == kMaxReordered) {
      result.not_tried = groups.size() - i;
      break;
    }
    const ScanAnswer answer = rule(with_first(maps, named, groups[i]), ignored);
    const Identity other = identity(answer);
    if (std::find(known.begin(), known.end(), other) != known.end()) continue;
    known.push_back(other);
    result.stability = Stability::order_dependent;
    std::string words = answer.outcome == Outcome::selected
                            ? answer.text
                            : std::string(outcome_words(answer.outcome));
    auto& others = result.other_answers;
    if (std::find(others.begin(), others.end(), words) == others.end()) {
      others.push_back(std::move(words));
    }
  }
  return result;
}

}  // namespace cudart_doctor
