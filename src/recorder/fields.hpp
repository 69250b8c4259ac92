// Fields in the protocol's form (formats/recorder_wire.hpp): `key=value` with a NUL behind it, in a
// fixed room. What does not fit is not there at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cudart_doctor::recorder {

/// A number as text.
class Digits {
 public:
  explicit Digits(std::uint64_t value, unsigned base = 10);
  [[nodiscard]] std::string_view view() const { return {text_ + begin_, sizeof text_ - begin_}; }

 private:
  char text_[20];
  std::size_t begin_ = sizeof text_;
};

template <std::size_t Size>
class Fields {
 public:
  /// False where there is no room. Bytes of the value behind a NUL are left out.
  bool add(std::string_view key, std::string_view value) {
    std::size_t size = 0;
    while (size < value.size() && value[size] != '\0') ++size;
    value.remove_suffix(value.size() - size);
    if (key.size() + size + 2 > room()) return false;
    append(key);
    append("=");
    append(value);
    bytes_[size_++] = '\0';
    return true;
  }
  bool add_number(std::string_view key, std::int64_t value) {
    return add(key, Digits(value > 0 ? static_cast<std::uint64_t>(value) : 0).view());
  }
  bool add_hex(std::string_view key, std::uint64_t value) {
    return add(key, Digits(value, 16).view());
  }
  /// MAJOR:MINOR
  bool add_pair(std::string_view key, std::uint64_t first, std::uint64_t second) {
    const Digits left(first);
    const Digits right(second);
    if (key.size() + left.view().size() + right.view().size() + 3 > room()) return false;
    append(key);
    append("=");
    append(left.view());
    append(":");
    append(right.view());
    bytes_[size_++] = '\0';
    return true;
  }
  /// Appends what other fields hold.
  bool add_all(std::string_view fields) {
    if (fields.size() > room()) return false;
    append(fields);
    return true;
  }

  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }
  [[nodiscard]] std::size_t room() const { return Size - size_; }
  /// Takes back what was added since view() had this size.
  void cut(std::size_t size) { size_ = size; }

 private:
  void append(std::string_view text) {
    for (const char c : text) bytes_[size_++] = c;
  }

  char bytes_[Size] = {};
  std::size_t size_ = 0;
};

}  // namespace cudart_doctor::recorder
