// Building blocks of the JSON report.
#include "render/json_parts.hpp"

#include <array>
#include <charconv>

#include "cudart_doctor/base/text.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

std::string hex(std::uint64_t value, std::size_t digits) {
  std::array<char, 16> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  std::string out(buffer.data(), end);
  if (out.size() < digits) out.insert(0, digits - out.size(), '0');
  return out;
}

}  // namespace

Json json_bytes(std::string_view bytes) { return escape_foreign(bytes); }

Json json_sentence(std::string_view sentence) { return printable(sentence); }

Json json_bytes_list(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(escape_foreign(item));
  return list;
}

Json json_sentence_list(const std::vector<std::string>& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(printable(item));
  return list;
}

Json json_bytes_or_null(std::string_view bytes) {
  return bytes.empty() ? Json(nullptr) : json_bytes(bytes);
}

Json json_sentence_or_null(std::string_view sentence) {
  return sentence.empty() ? Json(nullptr) : json_sentence(sentence);
}

void put_known(Json& object, const std::string& key, Json value) {
  object[key] = std::move(value);
  object[key + "_reason"] = nullptr;
}

void put_unknown(Json& object, const std::string& key, std::string_view reason) {
  object[key] = nullptr;
  object[key + "_reason"] = printable(reason);
}

void put_text(Json& object, const std::string& key, std::string_view bytes,
              std::string_view reason) {
  if (bytes.empty()) {
    put_unknown(object, key, reason);
  } else {
    put_known(object, key, json_bytes(bytes));
  }
}

std::string json_address(std::uint64_t address) { return "0x" + hex(address, 1); }

std::string json_device(const FileKey& key) {
  return hex(key.dev_major, 2) + ":" + hex(key.dev_minor, 2);
}

}  // namespace cudart_doctor
