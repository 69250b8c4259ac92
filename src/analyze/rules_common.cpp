// What the families of rules share: starting a finding, naming consumers and paths.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

Finding start_finding(std::string_view id, Severity severity, std::string headline) {
  Finding finding;
  finding.id = id;
  finding.severity = severity;
  finding.headline = std::move(headline);
  if (const CatalogueEntry* entry = find_entry(id)) {
    finding.slug = entry->slug;
    finding.owner = entry->owner;
    finding.effect = entry->meaning;
  }
  return finding;
}

void append_findings(std::vector<Finding>& to, std::vector<Finding> more) {
  for (Finding& finding : more) to.push_back(std::move(finding));
}

bool is_fake(RuntimeKind kind) {
  return kind == RuntimeKind::stub || kind == RuntimeKind::shim || kind == RuntimeKind::stand_in;
}

bool is_look_alike(const Candidate& candidate) {
  return is_fake(candidate.kind) && candidate.loaded;
}

bool is_side_rule(const Selection& selection) {
  const Policy* policy = find_policy(selection.policy);
  return policy != nullptr && !policy->since.empty();
}

bool counts_in_full(const Selection& selection) {
  return selection.presence != Presence::absent && !is_side_rule(selection);
}

std::string consumer_phrase(const Selection& selection) {
  if (selection.presence == Presence::present && !selection.presence_note.empty()) {
    return selection.presence_note;
  }
  const Policy* policy = find_policy(selection.policy);
  return policy == nullptr ? selection.policy : std::string(policy->title);
}

std::size_t count_unread_libraries(const Snapshot& snapshot) {
  const auto unread =
      std::count_if(snapshot.objects.begin(), snapshot.objects.end(), [](const auto& object) {
        return object.executable && object.elf.is_unknown() &&
               object.elf.reason().find("not an ELF") == std::string::npos;
      });
  return static_cast<std::size_t>(unread);
}

std::string release_of(std::string_view version) {
  const auto parts = split(version, '.');
  if (parts.size() < 2 || !parse_unsigned(parts[0], 10) || !parse_unsigned(parts[1], 10)) return {};
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

std::string short_build_id(std::string_view build_id) {
  constexpr std::size_t kDigits = 12;
  return escape_foreign(build_id.substr(0, kDigits));
}

std::string shown_address(std::uint64_t address) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), address, 16).ptr;
  return {digits.data(), end};
}

}  // namespace cudart_doctor
