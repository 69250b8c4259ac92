#include "cudart_doctor/analyze/allow.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/base/utc_time.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxQuoted = 60;  // Of a word that is not known.
constexpr std::size_t kMaxAllowances = 4096;
constexpr std::string_view kUntil = "until=";

std::string quoted(std::string_view word) {
  return "'" + escape_foreign(word.substr(0, kMaxQuoted)) + "'";
}

std::string unknown_finding(std::string_view word) {
  std::string message = quoted(word) + " is no finding";
  const std::vector<std::string> near = near_findings(word);
  return near.empty() ? message + "; `cudart-doctor explain` lists them"
                      : message + "; near: " + join(near, ", ");
}

/// "--allow RT06 until 2027-01-31"
std::string described(const Allowance& allowance) {
  return allowance.origin + " " + allowance.id +
         (allowance.until.empty() ? "" : " until " + allowance.until);
}

enum class Force : std::uint8_t { in_force, ended, unknown };

Force force_on(const Allowance& allowance, std::string_view taken_at) {
  if (allowance.until.empty()) return Force::in_force;
  constexpr std::size_t kDate = 10;
  const auto day = parse_utc_date(taken_at.substr(0, kDate));
  const auto last = parse_utc_date(allowance.until);
  if (!day || !last) return Force::unknown;
  return *day <= *last ? Force::in_force : Force::ended;
}

/// Why a finding counts although somebody allowed it.
std::string no_longer(const Allowance& allowance, Force force) {
  const std::string what = allowance.origin + " " + allowance.id;
  return force == Force::ended
             ? what + " ended " + allowance.until
             : what + " until " + allowance.until + ": the snapshot carries no date, so it counts";
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

/// Marks `finding` where somebody allows it; what has ended goes into the result.
std::vector<std::string> mark(Finding& finding, const std::vector<Allowance>& allowances,
                              std::string_view taken_at) {
  std::vector<std::string> ended;
  for (const Allowance& allowance : allowances) {
    if (allowance.id != finding.id) continue;
    const Force force = force_on(allowance, taken_at);
    if (force == Force::in_force) {
      finding.allowed = described(allowance);
      return {};
    }
    ended.push_back(no_longer(allowance, force));
  }
  return ended;
}

}  // namespace

Result<Allowance> parse_allowance(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const CatalogueEntry* const entry = find_finding(word);
  if (entry == nullptr) return fail(ErrorKind::usage, unknown_finding(word));
  Allowance allowance{.id = std::string(entry->id), .until = {}, .origin = "--allow"};
  if (colon == std::string_view::npos) return allowance;
  std::string_view date = text.substr(colon + 1);
  const bool named = date.starts_with(kUntil);
  if (named) date.remove_prefix(kUntil.size());
  if (!named || !parse_utc_date(date)) {
    return fail(ErrorKind::usage, quoted(text.substr(colon + 1)) +
                                      " is no end of an allowance, such as until=2027-01-31");
  }
  allowance.until = date;
  return allowance;
}

Result<std::vector<Allowance>> parse_allow_file(std::string_view text, std::string_view name) {
  // What some editors put before a text; the other readers of the command line's files pass it too.
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Allowance> all;
  std::size_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw.substr(0, raw.find('#')));
    if (line.empty()) continue;
    const std::string place = escape_foreign(name) + " line " + std::to_string(number) + ":";
    auto allowance = parse_allowance(line);
    if (!allowance) {
      return fail(allowance.error().kind, place + " " + allowance.error().message);
    }
    if (all.size() == kMaxAllowances) return fail(ErrorKind::limit, place + " too many lines");
    allowance->origin = place;
    all.push_back(std::move(*allowance));
  }
  return all;
}

AllowedFindings apply_allowances(std::vector<Finding> findings,
                                 const std::vector<Allowance>& allowances,
                                 std::string_view taken_at) {
  AllowedFindings out;
  for (Finding& finding : findings) {
    for (std::string& ended : mark(finding, allowances, taken_at)) {
      add_once(out.allowances.ended, std::move(ended));
    }
  }
  for (const Allowance& allowance : allowances) {
    const bool used = std::ranges::any_of(
        findings, [&](const Finding& finding) { return finding.id == allowance.id; });
    if (!used) add_once(out.allowances.unused, described(allowance));
  }
  std::vector<Finding> allowed;
  for (Finding& finding : findings) {
    (finding.allowed.empty() ? out.findings : allowed).push_back(std::move(finding));
  }
  append_findings(out.findings, std::move(allowed));
  return out;
}

}  // namespace cudart_doctor
