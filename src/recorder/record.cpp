#include "record.hpp"

namespace cudart_doctor::recorder {
namespace {

struct Digits {
  char text[21];  // 20 digits and a sign
  std::size_t begin = sizeof text;
  [[nodiscard]] std::string_view view() const { return {text + begin, sizeof text - begin}; }
};

Digits digits_of(std::uint64_t value, unsigned base) {
  Digits out;
  do {
    out.text[--out.begin] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  return out;
}

}  // namespace

void Record::begin(std::string_view kind) {
  size_ = 0;
  add("kind", kind);
}

bool Record::add(std::string_view key, std::string_view value) {
  std::size_t size = 0;
  while (size < value.size() && value[size] != '\0') ++size;
  value = {value.data(), size};
  if (key.size() + value.size() + 2 > room()) return false;
  for (const char c : key) bytes_[size_++] = c;
  bytes_[size_++] = '=';
  for (const char c : value) bytes_[size_++] = c;
  bytes_[size_++] = '\0';
  return true;
}

bool Record::add(std::string_view key, std::int64_t value) {
  if (value >= 0) return add(key, digits_of(static_cast<std::uint64_t>(value), 10).view());
  Digits out = digits_of(0 - static_cast<std::uint64_t>(value), 10);
  out.text[--out.begin] = '-';
  return add(key, out.view());
}

bool Record::add_pair(std::string_view key, std::uint64_t first, std::uint64_t second) {
  const Digits left = digits_of(first, 10);
  const Digits right = digits_of(second, 10);
  char text[2 * sizeof left.text + 1];
  std::size_t size = 0;
  for (const char c : left.view()) text[size++] = c;
  text[size++] = ':';
  for (const char c : right.view()) text[size++] = c;
  return add(key, std::string_view(text, size));
}

bool Record::add_hex(std::string_view key, std::uint64_t value) {
  return add(key, digits_of(value, 16).view());
}

bool Record::add_fields(std::string_view fields) {
  if (fields.size() > room()) return false;
  for (const char c : fields) bytes_[size_++] = c;
  return true;
}

}  // namespace cudart_doctor::recorder
