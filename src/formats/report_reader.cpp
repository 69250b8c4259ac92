// Typed access to a JSON document that nobody vouches for.
#include "report_traits.hpp"

namespace cudart_doctor {
namespace {

const nlohmann::json& nothing() {
  static const nlohmann::json null;
  return null;
}

const nlohmann::json& empty_array() {
  static const nlohmann::json array = nlohmann::json::array();
  return array;
}

const nlohmann::json& empty_object() {
  static const nlohmann::json object = nlohmann::json::object();
  return object;
}

}  // namespace

void ReportReader::refuse(std::string_view what) {
  if (error_.empty()) error_ = what;
}

const nlohmann::json& ReportReader::value(const Json& from, const char* key) {
  if (from.is_object()) {
    const auto place = from.find(key);
    if (place != from.end()) return *place;
  }
  refuse("the key '" + std::string(key) + "' is missing");
  return nothing();
}

const nlohmann::json& ReportReader::object(const Json& from, const char* key) {
  const Json& found = value(from, key);
  if (found.is_object()) return found;
  refuse("'" + std::string(key) + "' is no object");
  return empty_object();
}

const nlohmann::json& ReportReader::array(const Json& from, const char* key) {
  const Json& found = value(from, key);
  if (found.is_array()) return found;
  refuse("'" + std::string(key) + "' is no list");
  return empty_array();
}

std::string ReportReader::text(const Json& from, const char* key) {
  const Json& found = value(from, key);
  if (found.is_string()) return found.get_ref<const std::string&>();
  refuse("'" + std::string(key) + "' is no text");
  return {};
}

std::optional<std::string> ReportReader::text_or_null(const Json& from, const char* key) {
  if (value(from, key).is_null()) return std::nullopt;
  return text(from, key);
}

bool ReportReader::flag(const Json& from, const char* key) {
  const Json& found = value(from, key);
  if (found.is_boolean()) return found.get<bool>();
  refuse("'" + std::string(key) + "' is neither true nor false");
  return false;
}

std::uint64_t ReportReader::count(const Json& from, const char* key) {
  const Json& found = value(from, key);
  if (found.is_number_unsigned()) return found.get<std::uint64_t>();
  refuse("'" + std::string(key) + "' is no count");
  return 0;
}

std::string ReportReader::list(const Json& from, const char* key) {
  std::string out;
  for (const Json& item : array(from, key)) {
    if (!item.is_string()) {
      refuse("'" + std::string(key) + "' holds something that is no text");
      break;
    }
    if (!out.empty()) out += ", ";
    out += item.get_ref<const std::string&>();
  }
  return out.empty() ? "none" : out;
}

Attribute ReportReader::attribute(const Json& from, const char* key, std::string_view name,
                                  std::string_view none) {
  const Json& found = value(from, key);
  Attribute out{std::string(name), std::string(none), true};
  if (found.is_string()) {
    out.value = found.get_ref<const std::string&>();
  } else if (found.is_array()) {
    out.value = list(from, key);
  } else if (found.is_number() || found.is_boolean()) {
    out.value = found.dump();
  } else if (found.is_null()) {
    const auto reason = from.find(std::string(key) + "_reason");
    if (reason != from.end() && reason->is_string()) {
      out.value = reason->get_ref<const std::string&>();
      out.known = false;
    }
  } else {
    refuse("'" + std::string(key) + "' is an object");
  }
  return out;
}

}  // namespace cudart_doctor
