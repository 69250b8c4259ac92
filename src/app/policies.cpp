// `cudart-doctor policies`: the table of selection rules.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/app/run.hpp"

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

std::string as_text() {
  std::string out;
  for (const Policy& policy : policies()) {
    out.append(policy.id).append("  ").append(policy.title).append("\n");
    out += wrapped(policy.summary, 2);
    out += wrapped("vintage: " + std::string(policy.vintage), 2);
    out += wrapped("source: " + std::string(policy.source), 2);
    if (!policy.bound_names.empty()) {
      std::string names = "binds:";
      for (const std::string_view name : policy.bound_names) names.append(" ").append(name);
      out += wrapped(names, 2);
    }
    out += "\n";
  }
  return out;
}

std::string as_json() {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Policy& policy : policies()) {
    nlohmann::ordered_json row;
    row["id"] = policy.id;
    row["consumer"] = policy.consumer;
    row["title"] = policy.title;
    row["summary"] = policy.summary;
    row["vintage"] = policy.vintage;
    row["source"] = policy.source;
    row["current"] = policy.current;
    row["scans_addresses"] = policy.scans_addresses;
    row["binds"] = nlohmann::ordered_json::array();
    for (const std::string_view name : policy.bound_names) row["binds"].push_back(name);
    rows.push_back(std::move(row));
  }
  nlohmann::ordered_json document;
  document["schema_version"] = 1;
  document["policies"] = std::move(rows);
  return document.dump(2) + "\n";
}

}  // namespace

std::string render_policies(Format format) {
  return format == Format::json ? as_json() : as_text();
}

}  // namespace cudart_doctor
