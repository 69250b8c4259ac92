// `cudart-doctor policies`: the table of selection rules.
#include "cudart_doctor/app/policies.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace cudart_doctor {
namespace {

/// Lines of a width; our own ASCII text only.
class Page {
 public:
  explicit Page(std::size_t columns) : columns_(columns) {}

  /// `text` behind `indent` blanks in each line.
  void add(std::string_view text, std::size_t indent) {
    const std::size_t width = columns_ - indent;
    while (!text.empty()) {
      std::size_t size = std::min(text.size(), width);
      if (size < text.size()) {
        const std::size_t blank = text.rfind(' ', size);
        if (blank != std::string_view::npos && blank > 0) size = blank;
      }
      out_.append(indent, ' ').append(text.substr(0, size)).append("\n");
      text.remove_prefix(size);
      if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    }
  }

  void add_names(const auto& names) {
    std::string all = "binds:";
    for (const auto& name : names) all.append(" ").append(name);
    add(all, kIndent);
  }

  void add(const Policy& policy) {
    add(std::string(policy.id).append("  ").append(policy.title), 0);
    add(policy.summary, kIndent);
    add("vintage: " + std::string(policy.vintage), kIndent);
    add("source: " + std::string(policy.source), kIndent);
    if (!policy.bound_names.empty()) add_names(policy.bound_names);
    out_ += "\n";
  }

  void add(const Profile& profile) {
    add(std::string(kProfilePrefix) + profile.id + "  " + profile.title, 0);
    add("follows: " + (profile.policy.empty() ? "the headline's rule" : profile.policy), kIndent);
    add_names(profile.names);
    out_ += "\n";
  }

  std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kIndent = 2;
  std::size_t columns_;
  std::string out_;
};

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

}  // namespace

std::string render_policies_text(const PolicyList& list, std::size_t columns) {
  Page page(columns);
  for (const Policy& policy : list.rows) page.add(policy);
  for (const Profile& profile : list.profiles) page.add(profile);
  if (list.others.empty()) return page.take();
  page.add("Known, and no row:", 0);
  for (const NotModelled& each : list.others) {
    page.add(std::string(each.id).append("  ").append(each.consumer), 0);
    page.add(each.what, 2);
  }
  return page.take();
}

std::string render_policies_json(const PolicyList& list) {
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

}  // namespace cudart_doctor
