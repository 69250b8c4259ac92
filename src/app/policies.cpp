// `cudart-doctor policies`: the table of selection rules.
#include "cudart_doctor/app/policies.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cudart_doctor {
namespace {

constexpr std::size_t kWidth = 80;

/// `text` in lines of at most 80 columns, each after `indent` blanks. Our own ASCII text only.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  while (!text.empty()) {
    std::size_t size = std::min(text.size(), kWidth - indent);
    if (size < text.size()) {
      const std::size_t blank = text.rfind(' ', size);
      if (blank != std::string_view::npos && blank > 0) size = blank;
    }
    out.append(indent, ' ').append(text.substr(0, size)).append("\n");
    text.remove_prefix(size);
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  return out;
}

std::string binds(const auto& names) {
  std::string out = "binds:";
  for (const auto& name : names) out.append(" ").append(name);
  return wrapped(out, 2);
}

std::string as_text(const Policy& policy) {
  std::string out;
  out.append(policy.id).append("  ").append(policy.title).append("\n");
  out += wrapped(policy.summary, 2);
  out += wrapped("vintage: " + std::string(policy.vintage), 2);
  out += wrapped("source: " + std::string(policy.source), 2);
  if (!policy.bound_names.empty()) out += binds(policy.bound_names);
  return out + "\n";
}

std::string as_text(const Profile& profile) {
  std::string out = std::string(kProfilePrefix) + profile.id + "  " + profile.title + "\n";
  out +=
      wrapped("follows: " + (profile.policy.empty() ? "the headline's rule" : profile.policy), 2);
  return out + binds(profile.names) + "\n";
}

std::string as_text(const PolicyList& list) {
  std::string out;
  for (const Policy& policy : list.rows) out += as_text(policy);
  for (const Profile& profile : list.profiles) out += as_text(profile);
  if (list.others.empty()) return out;
  out += "Known, and no row:\n";
  for (const NotModelled& each : list.others) {
    out.append(each.id).append("  ").append(each.consumer).append("\n");
    out += wrapped(each.what, 2);
  }
  return out;
}

nlohmann::ordered_json as_json(const Policy& policy) {
  nlohmann::ordered_json row;
  row["id"] = policy.id;
  row["consumer"] = policy.consumer;
  row["title"] = policy.title;
  row["summary"] = policy.summary;
  row["vintage"] = policy.vintage;
  row["source"] = policy.source;
  row["current"] = policy.current;
  row["scans_addresses"] = policy.scans_addresses;
  row["preload"] = policy.preload;
  row["binds"] = nlohmann::ordered_json::array();
  for (const std::string_view name : policy.bound_names) row["binds"].push_back(name);
  return row;
}

std::string as_json(const PolicyList& list) {
  nlohmann::ordered_json document;
  document["schema_version"] = 1;
  document["policies"] = nlohmann::ordered_json::array();
  for (const Policy& policy : list.rows) document["policies"].push_back(as_json(policy));
  document["profiles"] = nlohmann::ordered_json::array();
  for (const Profile& profile : list.profiles) {
    nlohmann::ordered_json row;
    row["id"] = profile.id;
    row["title"] = profile.title;
    row["policy"] = profile.policy.empty() ? nlohmann::ordered_json(nullptr)
                                           : nlohmann::ordered_json(profile.policy);
    row["binds"] = profile.names;
    document["profiles"].push_back(std::move(row));
  }
  document["not_modelled"] = nlohmann::ordered_json::array();
  for (const NotModelled& each : list.others) {
    document["not_modelled"].push_back(
        {{"id", each.id}, {"consumer", each.consumer}, {"what", each.what}});
  }
  return document.dump(2) + "\n";
}

}  // namespace

std::string render_policies(const PolicyList& list, Format format) {
  return format == Format::json ? as_json(list) : as_text(list);
}

}  // namespace cudart_doctor
