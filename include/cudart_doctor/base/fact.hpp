// Fact<T>: what the target told. Its zero state is "not asked"; "could not read" carries the
// reason. A rule may clear a suspect only on a known fact: unknown is never absent.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace cudart_doctor {

template <typename T>
class Fact {
 public:
  Fact() = default;
  /// A value that was read.
  static Fact known(T value) {
    Fact fact;
    fact.value_ = std::move(value);
    return fact;
  }
  /// A value that was asked for and could not be read; `reason` is shown to the user.
  static Fact unknown(std::string reason) {
    Fact fact;
    fact.reason_ = std::move(reason);
    return fact;
  }

  [[nodiscard]] bool is_known() const { return value_.has_value(); }
  [[nodiscard]] bool is_unknown() const { return !value_ && reason_.has_value(); }
  [[nodiscard]] bool is_asked() const { return value_.has_value() || reason_.has_value(); }
  /// The value, or nullptr when it is not known.
  [[nodiscard]] const T* get() const { return value_ ? &*value_ : nullptr; }
  [[nodiscard]] T* get() { return value_ ? &*value_ : nullptr; }
  /// Why the value is unknown; "not asked" when nobody tried; empty when known.
  [[nodiscard]] std::string reason() const {
    if (value_) return {};
    return reason_ ? *reason_ : std::string("not asked");
  }

 private:
  std::optional<T> value_;
  std::optional<std::string> reason_;
};

}  // namespace cudart_doctor
