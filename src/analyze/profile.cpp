#include "cudart_doctor/analyze/profile.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxId = 64;
constexpr std::size_t kMaxName = 255;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= kMaxId &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
         });
}

bool is_title(std::string_view text) {
  return !text.empty() && text.size() <= kMaxProfileTitle &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower(c) || is_upper(c) || is_digit(c) || c == '_'; });
}

bool begins(std::string_view name, std::string_view family) {
  return name.size() > family.size() && name.starts_with(family) && is_upper(name[family.size()]);
}

/// The families whose exported names a snapshot keeps.
bool is_looked_up(std::string_view name) {
  return name.starts_with("__cuda") || begins(name, "cuda") || begins(name, "cu") ||
         begins(name, "nvrtc") || begins(name, "nvml") || begins(name, "hip");
}

tl::unexpected<Error> wrong(const std::string& what) { return fail(ErrorKind::usage, what); }

/// The text of a key; `fallback` where the key is not there.
Result<std::string> text_of(const Json& document, const char* key, const char* fallback) {
  const auto found = document.find(key);
  if (found == document.end()) return std::string(fallback);
  if (!found->is_string()) return wrong("\"" + std::string(key) + "\" is no text");
  return found->get<std::string>();
}

Result<std::vector<std::string>> names_of(const Json& document) {
  const auto found = document.find("names");
  if (found == document.end() || !found->is_array() || found->empty()) {
    return wrong("\"names\" must be a list of at least one function name");
  }
  if (found->size() > kMaxProfileNames) {
    return wrong("\"names\" has " + std::to_string(found->size()) + " entries; at most " +
                 std::to_string(kMaxProfileNames) + " are allowed");
  }
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Json& each : *found) {
    if (!each.is_string() || !is_name(each.get_ref<const std::string&>())) {
      return wrong("\"names\": entry " + std::to_string(names.size() + 1) + " is no function name");
    }
    names.push_back(each.get<std::string>());
    if (!seen.insert(names.back()).second) {
      return wrong("\"names\": " + names.back() + " is named twice");
    }
  }
  return names;
}

Result<Profile> profile_of(const Json& document) {
  if (!document.is_object()) return wrong("no JSON object");
  for (const auto& [key, value] : document.items()) {
    if (key != "id" && key != "title" && key != "policy" && key != "names") {
      return wrong("unknown key \"" + escape_foreign(key) + "\"");
    }
  }
  const auto id = text_of(document, "id", "");
  if (!id) return tl::unexpected(id.error());
  if (!is_id(*id)) return wrong("\"id\" must be 1 to 64 of a-z, 0-9, '.', '-' and '_'");
  const auto title = text_of(document, "title", "");
  if (!title) return tl::unexpected(title.error());
  const bool titled = document.contains("title");
  if (titled && !is_title(*title)) {
    return wrong("\"title\" must be 1 to " + std::to_string(kMaxProfileTitle) +
                 " printable ASCII characters");
  }
  const auto policy = text_of(document, "policy", "");
  if (!policy) return tl::unexpected(policy.error());
  if (document.contains("policy") && find_policy(*policy) == nullptr) {
    return wrong("unknown policy '" + escape_foreign(*policy) +
                 "'; `cudart-doctor policies` lists them");
  }
  auto names = names_of(document);
  if (!names) return tl::unexpected(names.error());
  const Policy* followed = find_policy(*policy);
  return Profile{*id, titled ? *title : id->substr(0, kMaxProfileTitle),
                 followed == nullptr ? std::string() : std::string(followed->id),
                 std::move(*names)};
}

}  // namespace

Result<Profile> parse_profile(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (document.is_discarded()) return wrong("no valid JSON");
  return profile_of(document);
}

bool is_profile_row(const Selection& selection) {
  return selection.policy.starts_with(kProfilePrefix);
}

Selection follow_with_profile(const Profile& profile, const Snapshot& snapshot,
                              const Selection& followed) {
  Selection row = followed;
  row.policy = std::string(kProfilePrefix) + profile.id;
  row.title = profile.title;
  row.consumer.clear();
  row.vintage = "follows " + followed.policy;
  row.source = "--profile";
  row.current = true;
  row.preload = false;
  row.presence = Presence::present;
  row.presence_note = "asked for with --profile";
  row.bound = static_cast<std::uint32_t>(profile.names.size());
  row.missing.clear();
  row.missing_known = false;
  // What the consumer would print for a name of its own list says nothing about these.
  if (followed.outcome != Outcome::selected || followed.open == OpenOutcome::fails) return row;
  row.error_text.clear();
  row.error_type.clear();
  std::vector<std::string_view> names;
  for (const std::string& name : profile.names) {
    if (is_looked_up(name)) {
      names.emplace_back(name);
    } else {
      row.unrecorded.push_back(name);
    }
  }
  MissingNames missing = missing_names(snapshot, row, names);
  row.missing = std::move(missing.names);
  row.missing_known = missing.known && row.unrecorded.empty();
  for (const std::string& name : row.unrecorded) {
    row.steps.push_back({name, StepVerdict::noted,
                         "not looked up: only names of CUDA's own interfaces are recorded"});
  }
  return row;
}

}  // namespace cudart_doctor
