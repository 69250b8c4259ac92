#include "cudart_doctor/analyze/diff.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "analyze/diff_pairs.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 11> kAreaNames = {
    "verdict",   "findings", "runtimes",    "order", "loads",     "selections",
    "consumers", "driver",   "environment", "probe", "namespaces"};

bool concerns(const IgnoredPart& part, const Trait& trait) {
  return part.area == trait.area &&
         (part.key.empty() || part.key == trait.keys[1] || part.key == trait.keys[2]);
}

const UnreadArea* unread(const ReportDigest& digest, Area area) {
  const auto found = std::find_if(digest.unread.begin(), digest.unread.end(),
                                  [area](const UnreadArea& each) { return each.area == area; });
  return found == digest.unread.end() ? nullptr : &*found;
}

Change not_compared(Area area, const UnreadArea* first, const UnreadArea* second) {
  Change out;
  out.area = area;
  out.kind = ChangeKind::not_compared;
  out.subject = name_of(area);
  const auto side = [](const UnreadArea* gap) {
    return gap == nullptr ? Attribute{"", "read", true} : Attribute{"", gap->reason, false};
  };
  out.before = side(first);
  out.after = side(second);
  return out;
}

/// Traits of one area, in the report's order.
std::vector<const Trait*> of_area(const ReportDigest& digest, Area area) {
  std::vector<const Trait*> out;
  for (const Trait& trait : digest.traits) {
    if (trait.area == area) out.push_back(&trait);
  }
  return out;
}

/// How often each identity occurs.
std::map<std::string, int> counts(const std::vector<std::string>& order) {
  std::map<std::string, int> out;
  for (const std::string& each : order) ++out[each];
  return out;
}

struct Sequence {
  std::vector<std::string> identities;
  std::vector<std::string> titles;
};

/// The order of what `other` has as often: a new runtime between two others is no new order.
Sequence common_order(const ReportDigest& digest, const ReportDigest& other) {
  const auto here = counts(digest.order);
  const auto there = counts(other.order);
  Sequence out;
  for (std::size_t i = 0; i < digest.order.size(); ++i) {
    const auto found = there.find(digest.order[i]);
    if (found == there.end() || found->second != here.at(digest.order[i])) continue;
    out.identities.push_back(digest.order[i]);
    out.titles.push_back(digest.order_titles[i]);
  }
  return out;
}

std::vector<Change> order_changes(const ReportDigest& first, const ReportDigest& second) {
  const Sequence one = common_order(first, second);
  const Sequence two = common_order(second, first);
  if (one.identities == two.identities) return {};
  Change out;
  out.area = Area::order;
  out.subject = "runtimes by address";
  out.attribute = "order";
  out.before = Attribute{"order", join(one.titles, ", "), true};
  out.after = Attribute{"order", join(two.titles, ", "), true};
  return {out};
}

void append_line(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out.append(":").append(text);
}

std::string canonical_trait(const Trait& trait) {
  std::string out(name_of(trait.area));
  append_line(out, trait.keys[1]);
  for (const Attribute& attribute : trait.attributes) {
    append_line(out, attribute.name);
    append_line(out, attribute.known ? "=" + attribute.value : "?");
  }
  return out;
}

std::vector<DigestGroup> groups_of(const std::vector<ReportDigest>& reports) {
  std::vector<DigestGroup> groups;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    std::string text = canonical_text(reports[i]);
    const auto same = std::find(texts.begin(), texts.end(), text);
    if (same != texts.end()) {
      groups[static_cast<std::size_t>(same - texts.begin())].members.push_back(i);
      continue;
    }
    groups.push_back({{i}, fingerprint_of(text)});
    texts.push_back(std::move(text));
  }
  std::sort(groups.begin(), groups.end(), [](const DigestGroup& a, const DigestGroup& b) {
    if (a.members.size() != b.members.size()) return a.members.size() > b.members.size();
    return a.members.front() < b.members.front();
  });
  return groups;
}

bool is_majority(std::size_t members, std::size_t all) { return members * 2 > all; }

constexpr std::size_t kMostHints = 32;  // Tries; each looks at all reports.

/// What differs: variables one by one, the first of which ranks are given each their own; then
/// areas. The verdict is none: to leave it out hides what is looked for.
std::vector<IgnoredPart> hint_candidates(const std::vector<DigestPair>& pairs) {
  std::vector<IgnoredPart> variables;
  std::vector<IgnoredPart> areas;
  const auto add = [](std::vector<IgnoredPart>& to, Area area, const std::string& key) {
    const bool known = std::ranges::any_of(
        to, [&](const IgnoredPart& part) { return part.area == area && part.key == key; });
    if (!known && to.size() < kMostHints / 2) to.push_back({area, key});
  };
  for (const DigestPair& pair : pairs) {
    for (const Change& change : pair.changes) {
      if (change.area == Area::verdict || change.area == Area::findings) continue;
      if (change.area == Area::environment && change.kind != ChangeKind::not_compared) {
        add(variables, change.area, change.subject);
      }
      add(areas, change.area, "");
    }
  }
  variables.insert(variables.end(), areas.begin(), areas.end());
  return variables;
}

/// The first single thing that is in the way of a majority.
std::optional<MajorityHint> find_hint(const std::vector<ReportDigest>& reports,
                                      const std::vector<DigestPair>& pairs) {
  for (const IgnoredPart& part : hint_candidates(pairs)) {
    std::vector<ReportDigest> rest;
    rest.reserve(reports.size());
    for (const ReportDigest& report : reports) rest.push_back(without(report, {part}));
    const auto groups = groups_of(rest);
    if (is_majority(groups.front().members.size(), reports.size())) {
      return MajorityHint{{text_of(part)}, groups.front().members};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Area area) { return kAreaNames[static_cast<std::size_t>(area)]; }

std::optional<IgnoredPart> parse_ignored(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto found = std::find(kAreaNames.begin(), kAreaNames.end(), text.substr(0, colon));
  if (found == kAreaNames.end()) return std::nullopt;
  const std::string_view key = text.substr(std::min(colon + 1, text.size()));
  if (colon < text.size() && key.empty()) return std::nullopt;
  return IgnoredPart{static_cast<Area>(found - kAreaNames.begin()), std::string(key)};
}

bool is_in(const ReportDigest& digest, const IgnoredPart& ignored) {
  // An area is always there, if empty.
  return ignored.key.empty() || std::ranges::any_of(digest.traits, [&](const Trait& trait) {
           return concerns(ignored, trait);
         });
}

std::string text_of(const IgnoredPart& ignored) {
  return std::string(name_of(ignored.area)) + (ignored.key.empty() ? "" : ":" + ignored.key);
}

ReportDigest without(ReportDigest digest, const std::vector<IgnoredPart>& ignored) {
  for (const IgnoredPart& part : ignored) {
    std::erase_if(digest.traits, [&](const Trait& trait) { return concerns(part, trait); });
    if (!part.key.empty()) continue;
    std::erase_if(digest.unread, [&](const UnreadArea& gap) { return gap.area == part.area; });
    if (part.area == Area::order) {
      digest.order.clear();
      digest.order_titles.clear();
    }
  }
  return digest;
}

std::vector<Change> differences(const ReportDigest& first, const ReportDigest& second) {
  std::vector<Change> out;
  for (std::size_t i = 0; i < kAreaNames.size(); ++i) {
    const auto area = static_cast<Area>(i);
    if (area == Area::order) {
      const auto more = order_changes(first, second);
      out.insert(out.end(), more.begin(), more.end());
      continue;
    }
    const UnreadArea* const one = unread(first, area);
    const UnreadArea* const two = unread(second, area);
    if ((one == nullptr) != (two == nullptr)) {
      out.push_back(not_compared(area, one, two));
      continue;
    }
    const auto more = paired_changes(of_area(first, area), of_area(second, area));
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

std::string canonical_text(const ReportDigest& digest) {
  std::vector<std::string> parts;
  parts.reserve(digest.traits.size() + digest.unread.size() + 1);
  for (const Trait& trait : digest.traits) parts.push_back(canonical_trait(trait));
  for (const UnreadArea& gap : digest.unread) {
    parts.push_back(std::string(name_of(gap.area)) + " unread");
  }
  std::sort(parts.begin(), parts.end());
  // The order is the one thing whose order counts.
  std::string order(name_of(Area::order));
  for (const std::string& each : digest.order) append_line(order, each);
  parts.push_back(std::move(order));
  std::string out;
  for (const std::string& part : parts) append_line(out, part);
  return out;
}

std::string fingerprint_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char letter : text) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3ULL;
  }
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[(hash >> shift) & 15U];
  return out;
}

namespace {

bool is_without_loads(const ReportDigest& digest) {
  const UnreadArea* const gap = unread(digest, Area::loads);
  return gap != nullptr && !gap->is_gap;
}

/// What a process loaded is known of commands that `run` started only: that one report has it and
/// another has not is a matter of how they were made, and no difference.
void leave_out_one_sided_loads(std::vector<ReportDigest>& reports) {
  const auto without_loads = std::ranges::count_if(reports, is_without_loads);
  if (without_loads == 0 || without_loads == std::ssize(reports)) return;
  for (ReportDigest& report : reports) {
    if (is_without_loads(report)) {
      std::erase_if(report.unread, [](const UnreadArea& gap) { return gap.area == Area::loads; });
      report.unread.push_back({Area::loads, "it is of no command that run started", true});
      continue;
    }
    report = without(std::move(report), {{Area::loads, ""}});
    report.unread.push_back({Area::loads, "another report has none", true});
  }
}

}  // namespace

Comparison compare(std::vector<ReportDigest> reports) {
  leave_out_one_sided_loads(reports);
  Comparison out;
  out.groups = groups_of(reports);
  const std::size_t largest = out.groups.empty() ? 0 : out.groups.front().members.size();
  if (reports.size() > 2 && is_majority(largest, reports.size())) out.majority = 0;
  for (std::size_t i = 1; i < out.groups.size(); ++i) {
    DigestPair pair{out.groups.front().members.front(), out.groups[i].members.front(), {}};
    pair.changes = differences(reports[pair.first], reports[pair.second]);
    out.pairs.push_back(std::move(pair));
  }
  if (reports.size() > 2 && !out.majority) out.hint = find_hint(reports, out.pairs);
  out.reports = std::move(reports);
  return out;
}

}  // namespace cudart_doctor
