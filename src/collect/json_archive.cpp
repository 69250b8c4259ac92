#include "json_archive.hpp"

#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// Strict: no overlong forms, no surrogates, nothing above U+10FFFF; what nlohmann's dump accepts.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    std::size_t more = 0;
    unsigned low = 0x80;
    unsigned high = 0xbf;
    if (lead < 0x80) {
      more = 0;
    } else if (lead >= 0xc2 && lead <= 0xdf) {
      more = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      more = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return false;
    }
    if (more > text.size() - i - 1) return false;
    for (std::size_t k = 1; k <= more; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if (next < low || next > high) return false;
      low = 0x80;
      high = 0xbf;
    }
    i += more + 1;
  }
  return true;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

nlohmann::json encode_text(std::string_view bytes) {
  if (is_utf8(bytes)) return std::string(bytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15u];
  }
  return {{"hex", std::move(hex)}};
}

std::optional<std::string> decode_text(const nlohmann::json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const auto place = value.find("hex");
  if (place == value.end() || !place->is_string()) return std::nullopt;
  const auto& hex = place->get_ref<const std::string&>();
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = hex_value(hex[i]);
    const int low = hex_value(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

void JsonReader::decode(const nlohmann::json& from, std::string& to) {
  if (auto text = decode_text(from)) {
    to = std::move(*text);
  } else {
    refuse("is not a text");
  }
}

void JsonReader::refuse(std::string_view why) {
  if (!error_) error_ = escape_foreign(where_) + " " + std::string(why);
}

}  // namespace cudart_doctor
