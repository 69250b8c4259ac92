// `diff` for a terminal: who differs and how gravely, then what, by area.
#include <algorithm>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "render/diff_rows.hpp"
#include "render/diff_words.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxMembers = 4;  // Of a group, unless verbose.

/// "A, B, C": all of them where they are few, else the first ones and how many more there are.
std::string labels_of(const std::vector<std::size_t>& members) {
  constexpr std::size_t kAll = 8;
  constexpr std::size_t kFirst = 4;
  const std::size_t shown = members.size() > kAll ? kFirst : members.size();
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out.append(out.empty() ? "" : ", ").append(digest_label(members[i]));
  }
  if (shown < members.size()) out += " and " + std::to_string(members.size() - shown) + " more";
  return out;
}

/// "rank2.json, pid 4123 sglang::scheduler_TP2": short enough for a headline.
std::string who(const ReportDigest& digest) {
  constexpr std::size_t kName = 40;
  constexpr std::size_t kTitle = 44;
  return cut_middle(escape_foreign(digest.name), kName) + ", " +
         cut_end(printable(digest.title), kTitle);
}

void write_identity(TextWriter& writer, const Comparison& comparison, std::size_t index) {
  const ReportDigest& digest = comparison.reports[index];
  std::string text =
      writer.verbose() ? escape_foreign(digest.name) + ", " + printable(digest.title) : who(digest);
  if (!digest.host.empty()) text += "  node " + printable(digest.host);
  if (!digest.generated_at.empty()) text += "  " + printable(digest.generated_at);
  writer.labelled(digest_label(index), text, 3);
}

/// The report's own headline, where it is about a finding: else it speaks of runtimes by letters
/// that hold in that report only.
void write_headline(TextWriter& writer, const ReportDigest& digest) {
  const bool tells = tells_of_more_than_info(digest);
  writer.labelled("",
                  tells ? printable(digest.worst) + ": " + printable(digest.sentence)
                        : "nothing found that is graver than info",
                  3);
}

void write_notes(TextWriter& writer, const Comparison& comparison) {
  bool versions_differ = false;
  for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
    const ReportDigest& digest = comparison.reports[i];
    versions_differ |= digest.tool_version != comparison.reports.front().tool_version;
    std::string gaps;
    for (const std::string& gap : digest.blind) gaps += (gaps.empty() ? "" : ", ") + gap;
    if (!gaps.empty()) {
      writer.labelled("NOTE", digest_label(i) + ": " + printable(gaps) +
                                  "; what is not there may only be unread");
    }
    for (const UnreadArea& gap : digest.unread) {
      if (!gap.is_gap) continue;
      const bool left_out = gap.area == Area::loads;
      writer.labelled("NOTE", digest_label(i) + ": " + std::string(name_of(gap.area)) +
                                  (left_out ? " not compared (" : " not known (") +
                                  printable(gap.reason) + ")");
    }
  }
  for (const std::string& part : comparison.unused) {
    writer.labelled("NOTE", "--ignore " + printable(part) + ": in none of the reports");
  }
  if (versions_differ) {
    writer.labelled("NOTE",
                    "the reports are of different versions of this program, whose rules differ; "
                    "snapshots are judged anew by this one");
  }
}

std::size_t count_area(const ReportDigest& digest, Area area) {
  return static_cast<std::size_t>(
      std::count_if(digest.traits.begin(), digest.traits.end(),
                    [area](const Trait& trait) { return trait.area == area; }));
}

void write_equal(TextWriter& writer, const Comparison& comparison) {
  const ReportDigest& digest = comparison.reports.front();
  std::string text = "No difference between " + count_of(comparison.reports.size(), "report") + ":";
  std::string_view separator = " ";
  for (const Area area : {Area::findings, Area::runtimes, Area::selections, Area::environment}) {
    text.append(separator).append(count_of(count_area(digest, area), noun_of(area)));
    separator = ", ";
  }
  writer.entry({.hang = kTextColumn}, text);
}

std::string pair_line(const Comparison& comparison, const DigestPair& pair) {
  return verdict_phrase(comparison.reports[pair.first], comparison.reports[pair.second]) +
         "; different: " + summary_of(pair.changes);
}

/// The one change that decides: what the rule takes that both headlines speak of.
void write_headline_rule(TextWriter& writer, const Comparison& comparison, const DigestPair& pair) {
  const ReportDigest& first = comparison.reports[pair.first];
  const ReportDigest& second = comparison.reports[pair.second];
  if (first.policy.empty() || first.policy != second.policy) return;
  const std::string* const before = taken_by(first, first.policy);
  const std::string* const after = taken_by(second, first.policy);
  if (before == nullptr || after == nullptr || *before == *after) return;
  writer.labelled("TAKES",
                  "the headline's rule, " + printable(first.policy) + ": " + printable(*before) +
                      " -> " + printable(*after),
                  3);
}

void write_two(TextWriter& writer, const Comparison& comparison) {
  const DigestPair& pair = comparison.pairs.front();
  writer.entry({.before = "B differs from A: ", .hang = kTextColumn}, pair_line(comparison, pair));
  for (const std::size_t index : {pair.first, pair.second}) {
    write_identity(writer, comparison, index);
    write_headline(writer, comparison.reports[index]);
  }
  write_headline_rule(writer, comparison, pair);
  write_changes(writer, pair.changes);
}

std::string verb(std::size_t count) { return count == 1 ? " differs" : " differ"; }

void write_hint(TextWriter& writer, const Comparison& comparison) {
  if (!comparison.hint) return;
  const MajorityHint& hint = *comparison.hint;
  const bool all = hint.members.size() == comparison.reports.size();
  const std::string what = printable(join(hint.ignored, ", "));
  std::string options;
  for (const std::string& each : hint.ignored) options += " --ignore " + printable(each);
  writer.labelled("HINT", "only " + what + " separates " +
                              (all ? "them" : labels_of(hint.members)) + ":" + options);
}

void write_many_head(TextWriter& writer, const Comparison& comparison) {
  const std::size_t all = comparison.reports.size();
  const std::size_t most = comparison.groups.front().members.size();
  if (!comparison.majority) {
    writer.line(std::to_string(all) + " reports, " + std::to_string(comparison.groups.size()) +
                " different ones, no majority");
    write_hint(writer, comparison);
    return;
  }
  std::vector<std::size_t> odd;
  for (std::size_t i = 1; i < comparison.groups.size(); ++i) {
    const auto& members = comparison.groups[i].members;
    odd.insert(odd.end(), members.begin(), members.end());
  }
  std::sort(odd.begin(), odd.end());
  std::string names = labels_of(odd);
  if (odd.size() == 1) names += " (" + who(comparison.reports[odd.front()]) + ")";
  std::string text =
      std::to_string(most) + " of " + std::to_string(all) + " agree; " + names + verb(odd.size());
  // Several kinds of odd ones have a line each.
  if (comparison.pairs.size() == 1) text += ": " + pair_line(comparison, comparison.pairs.front());
  writer.entry({.hang = kTextColumn}, text);
}

void write_group(TextWriter& writer, const Comparison& comparison, const DigestGroup& group) {
  const std::size_t count = group.members.size();
  const std::size_t most = writer.verbose() ? count : std::min(count, kMaxMembers);
  writer.labelled("GROUP", labels_of(group.members) + (count > 1 ? " alike" : " alone") +
                               ", fingerprint " + group.fingerprint);
  write_headline(writer, comparison.reports[group.members.front()]);
  for (std::size_t i = 0; i < most; ++i) write_identity(writer, comparison, group.members[i]);
  if (count > most) {
    writer.labelled("", "and " + std::to_string(count - most) + " more of them with -v");
  }
}

void write_many(TextWriter& writer, const Comparison& comparison) {
  write_many_head(writer, comparison);
  for (const DigestGroup& group : comparison.groups) write_group(writer, comparison, group);
  for (std::size_t i = 0; i < comparison.pairs.size(); ++i) {
    const DigestPair& pair = comparison.pairs[i];
    writer.blank();
    const std::vector<std::size_t>& members = comparison.groups[i + 1].members;
    // With one odd group the first line has said it.
    if (comparison.majority && comparison.pairs.size() == 1) {
      write_changes(writer, pair.changes);
      return;
    }
    writer.entry({.hang = kTextColumn}, labels_of(members) + verb(members.size()) + " from " +
                                            labels_of(comparison.groups.front().members) + ": " +
                                            pair_line(comparison, pair));
    write_changes(writer, pair.changes);
  }
}

}  // namespace

std::string digest_label(std::size_t index) {
  std::string out(1, static_cast<char>('A' + index % 26));
  return index < 26 ? out : digest_label(index / 26 - 1) + out;
}

std::string render_diff_text(const Comparison& comparison, const TextOptions& options) {
  TextWriter writer(options);
  if (comparison.equal()) {
    write_equal(writer, comparison);
  } else if (comparison.reports.size() == 2) {
    write_two(writer, comparison);
  } else {
    write_many(writer, comparison);
  }
  write_notes(writer, comparison);
  return writer.take();
}

}  // namespace cudart_doctor
