// One record of the recorder's protocol (formats/recorder_wire.hpp) in a buffer of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cudart_doctor/formats/recorder_limits.hpp"

namespace cudart_doctor::recorder {

class Record {
 public:
  /// Empties the record and begins another one.
  void begin(std::string_view kind);
  /// Appends a field; false, and nothing appended, where there is no room. Bytes of the value
  /// behind a NUL are left out.
  bool add(std::string_view key, std::string_view value);
  bool add(std::string_view key, std::int64_t value);
  /// MAJOR:MINOR
  bool add_pair(std::string_view key, std::uint64_t first, std::uint64_t second);
  bool add_hex(std::string_view key, std::uint64_t value);
  /// Appends fields that are already in the protocol's form.
  bool add_fields(std::string_view fields);

  [[nodiscard]] std::string_view bytes() const { return {bytes_, size_}; }
  [[nodiscard]] std::size_t room() const { return kMaxRecord - size_; }
  /// Takes back what was appended since bytes() had this size.
  void cut(std::size_t size) { size_ = size; }

 private:
  char bytes_[kMaxRecord] = {};
  std::size_t size_ = 0;
};

}  // namespace cudart_doctor::recorder
