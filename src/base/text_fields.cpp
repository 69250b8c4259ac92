#include "cudart_doctor/base/text_fields.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

void FieldWriter::put(std::string_view text) {
  out_.append(std::to_string(text.size())).append(":").append(text);
}

void FieldWriter::put_list(const std::vector<std::string>& texts) {
  put_number(texts.size());
  for (const std::string& each : texts) put(each);
}

std::string FieldReader::text() {
  const std::size_t colon = rest_.find(':');
  const auto size = parse_unsigned(rest_.substr(0, colon), 10);
  if (!sound_ || colon == std::string_view::npos || !size || *size > rest_.size() - colon - 1) {
    sound_ = false;
    return {};
  }
  const auto text = rest_.substr(colon + 1, static_cast<std::size_t>(*size));
  rest_.remove_prefix(colon + 1 + text.size());
  return std::string(text);
}

std::uint64_t FieldReader::number(std::uint64_t most) {
  const auto value = parse_unsigned(text(), 10);
  if (!value || *value > most) sound_ = false;
  return sound_ ? *value : 0;
}

std::vector<std::string> FieldReader::list() {
  std::vector<std::string> out;
  for (std::size_t left = count(); left > 0 && sound_; --left) out.push_back(text());
  return out;
}

}  // namespace cudart_doctor
