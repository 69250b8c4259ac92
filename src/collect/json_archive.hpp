// The two archives behind snapshot_fields: values to JSON, and JSON that may be hostile to values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/collect/snapshot_fields.hpp"

namespace cudart_doctor {

/// A text as JSON: a string, or {"hex": ...} where it is no UTF-8.
nlohmann::json encode_text(std::string_view bytes);
/// The reverse; nothing for anything else.
std::optional<std::string> decode_text(const nlohmann::json& value);

class JsonWriter {
 public:
  template <typename T>
  using Ref = const T&;

  template <typename T>
  void operator()(const char* name, const T& value) {
    object_[name] = encode(value);
  }

  template <typename T>
  static nlohmann::json encode(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return std::string(EnumNames<T>::kNames.at(static_cast<std::size_t>(value)));
    } else {
      JsonWriter writer;
      describe(writer, value);
      return std::move(writer.object_);
    }
  }
  static nlohmann::json encode(const std::string& value) { return encode_text(value); }
  template <typename A, typename B>
  static nlohmann::json encode(const std::pair<A, B>& value) {
    return nlohmann::json::array({encode(value.first), encode(value.second)});
  }
  template <typename T>
  static nlohmann::json encode(const std::optional<T>& value) {
    return value ? encode(*value) : nlohmann::json(nullptr);
  }
  template <typename T>
  static nlohmann::json encode(const Fact<T>& value) {
    if (const T* known = value.get()) return {{"known", encode(*known)}};
    if (value.is_unknown()) return {{"unknown", encode(value.reason())}};
    return nullptr;
  }
  template <typename T>
  static nlohmann::json encode(const std::vector<T>& values) {
    auto list = nlohmann::json::array();
    for (const auto& value : values) list.push_back(encode(value));
    return list;
  }
  template <typename T>
  static nlohmann::json encode(const std::map<std::string, T>& values) {
    auto list = nlohmann::json::array();
    for (const auto& [key, value] : values) {
      list.push_back(nlohmann::json::array({encode(key), encode(value)}));
    }
    return list;
  }

 private:
  nlohmann::json object_ = nlohmann::json::object();
};

/// Reads on after an error, with defaults; the first error is kept. `where` is the path of keys.
class JsonReader {
 public:
  template <typename T>
  using Ref = T&;

  explicit JsonReader(const nlohmann::json& value) : value_(&value) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    const Step step(*this, name);
    const auto place = value_->find(name);
    if (place == value_->end()) {
      if (std::ranges::find(kLaterKeys, name) == kLaterKeys.end()) refuse("is missing");
    } else {
      decode(*place, value);
    }
  }

  template <typename T>
  void decode(const nlohmann::json& from, T& to) {
    if constexpr (std::is_same_v<T, bool>) {
      if (!from.is_boolean()) return refuse("is not true or false");
      to = from.template get<bool>();
    } else if constexpr (std::is_arithmetic_v<T>) {
      decode_number(from, to);
    } else if constexpr (std::is_enum_v<T>) {
      decode_name(from, to);
    } else {
      if (!from.is_object()) return refuse("is not an object");
      const nlohmann::json* outer = std::exchange(value_, &from);
      describe(*this, to);
      value_ = outer;
    }
  }
  void decode(const nlohmann::json& from, std::string& to);
  template <typename A, typename B>
  void decode(const nlohmann::json& from, std::pair<A, B>& to) {
    if (!from.is_array() || from.size() != 2) return refuse("is not a pair");
    decode(from[0], to.first);
    decode(from[1], to.second);
  }
  template <typename T>
  void decode(const nlohmann::json& from, std::optional<T>& to) {
    if (from.is_null()) return to.reset();
    decode(from, to.emplace());
  }
  template <typename T>
  void decode(const nlohmann::json& from, Fact<T>& to) {
    if (from.is_null()) return;
    if (!from.is_object() || from.size() != 1) return refuse("is not a fact");
    if (const auto known = from.find("known"); known != from.end()) {
      T value{};
      decode(*known, value);
      to = Fact<T>::known(std::move(value));
    } else if (const auto unknown = from.find("unknown"); unknown != from.end()) {
      std::string reason;
      decode(*unknown, reason);
      to = Fact<T>::unknown(std::move(reason));
    } else {
      refuse("is not a fact");
    }
  }
  template <typename T>
  void decode(const nlohmann::json& from, std::vector<T>& to) {
    if (!from.is_array()) return refuse("is not a list");
    for (std::size_t i = 0; i < from.size() && !error_; ++i) {
      const Step step(*this, std::to_string(i));
      decode(from[i], to.emplace_back());
    }
  }
  template <typename T>
  void decode(const nlohmann::json& from, std::map<std::string, T>& to) {
    std::vector<std::pair<std::string, T>> pairs;
    decode(from, pairs);
    for (auto& [key, value] : pairs) to.emplace(std::move(key), std::move(value));
  }

  /// Notes that the value at hand cannot be used: "objects.3.rows is not a list".
  void refuse(std::string_view why);
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }

 private:
  /// Lengthens `where_` for as long as one value is read.
  class Step {
   public:
    Step(JsonReader& reader, std::string_view name) : reader_(reader), size_(reader.where_.size()) {
      if (size_ > 0) reader_.where_ += '.';
      reader_.where_ += name;
    }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;
    ~Step() { reader_.where_.resize(size_); }

   private:
    JsonReader& reader_;
    std::size_t size_;
  };

  template <typename T>
  void decode_number(const nlohmann::json& from, T& to) {
    // Never through double: 2^53 + 1 and an inode of 64 bits must survive.
    if (from.is_number_unsigned()) {
      const auto number = from.template get<std::uint64_t>();
      if (number <= static_cast<std::uint64_t>(std::numeric_limits<T>::max())) {
        to = static_cast<T>(number);
        return;
      }
    } else if (std::is_signed_v<T> && from.is_number_integer()) {
      const auto number = from.template get<std::int64_t>();
      if (std::in_range<T>(number)) {
        to = static_cast<T>(number);
        return;
      }
    } else {
      return refuse("is not a whole number");
    }
    refuse("is out of range");
  }

  template <typename T>
  void decode_name(const nlohmann::json& from, T& to) {
    std::string name;
    decode(from, name);
    const auto& names = EnumNames<T>::kNames;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names.at(i) == name) {
        to = static_cast<T>(i);
        return;
      }
    }
    refuse("has an unknown value");
  }

  const nlohmann::json* value_;
  std::string where_;
  std::optional<std::string> error_;
};

}  // namespace cudart_doctor
