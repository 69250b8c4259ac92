// Texts and numbers one after another as bytes, from one process of the doctor to another. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

class FieldWriter {
 public:
  void put(std::string_view text);
  void put_number(std::uint64_t number) { put(std::to_string(number)); }
  void put_list(const std::vector<std::string>& texts);
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

/// Reads in the order of writing. What is not as it was written reads as empty, and is told by
/// ended_well().
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}
  std::string text();
  /// At most `most`.
  std::uint64_t number(std::uint64_t most);
  /// How many pieces follow: never more than there are bytes left for.
  std::size_t count() { return static_cast<std::size_t>(number(rest_.size())); }
  std::vector<std::string> list();
  [[nodiscard]] bool sound() const { return sound_; }
  /// Nothing was wrong, and nothing is left.
  [[nodiscard]] bool ended_well() const { return sound_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = true;
};

}  // namespace cudart_doctor
