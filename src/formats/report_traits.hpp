// Reading a parsed JSON document piece by piece, and what counts of each part of a report.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/comparison.hpp"

namespace cudart_doctor {

/// Values of a report. The first thing that is not as the schema says is remembered, the rest
/// read as empty, so that readers need not check each value.
class ReportReader {
 public:
  using Json = nlohmann::json;

  /// The object, array or text at `key` of `from`; empty where it is not one.
  const Json& object(const Json& from, const char* key);
  const Json& array(const Json& from, const char* key);
  std::string text(const Json& from, const char* key);
  bool flag(const Json& from, const char* key);
  std::uint64_t count(const Json& from, const char* key);
  /// Texts of an array, joined by ", "; "none" where it is empty.
  std::string list(const Json& from, const char* key);
  /// nothing for null.
  std::optional<std::string> text_or_null(const Json& from, const char* key);
  /// `key` as an attribute `name`: unknown where it is null and `key`_reason says why, else null
  /// is `none`.
  Attribute attribute(const Json& from, const char* key, std::string_view name,
                      std::string_view none);

  void refuse(std::string_view what);
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const Json& value(const Json& from, const char* key);
  std::string error_;
};

std::vector<Trait> verdict_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> finding_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> selection_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> consumer_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> driver_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> variable_traits(ReportReader& reader, const nlohmann::json& environment);
std::vector<Trait> probe_traits(ReportReader& reader, const nlohmann::json& report);
std::vector<Trait> namespace_traits(ReportReader& reader, const nlohmann::json& report);
/// Of the judged process; `run` is the report's.
std::vector<Trait> load_traits(ReportReader& reader, const nlohmann::json& report,
                               const nlohmann::json& run);

struct RuntimeTraits {
  std::vector<Trait> traits;
  std::vector<std::string> order;         ///< Identities of the mapped ones, by address.
  std::vector<std::string> order_titles;  ///< The same for people.
};
RuntimeTraits runtime_traits(ReportReader& reader, const nlohmann::json& report);

}  // namespace cudart_doctor
