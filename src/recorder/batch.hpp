// What one call of dlopen, or a program's start, has loaded so far, and who asked for each.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace cudart_doctor::recorder {

/// Texts of a batch; those that do not fit are "".
class TextStore {
 public:
  std::string_view keep(std::string_view text) {
    if (text.size() > sizeof bytes_ - used_) return {};
    char* const begin = bytes_ + used_;
    for (const char c : text) bytes_[used_++] = c;
    return {begin, text.size()};
  }
  void clear() { used_ = 0; }

 private:
  char bytes_[16384] = {};
  std::size_t used_ = 0;
};

struct Arrival {
  link_map* map = nullptr;
  std::uintptr_t* cookie = nullptr;
  link_map* requester = nullptr;  ///< nullptr: nobody asked (the program, the loader itself).
  std::string_view name;          ///< What was asked for.
  Lmid_t space = 0;
  std::uint32_t order = 0;
  std::uint32_t is_recorded = 0;
};

class Batch {
 public:
  /// nullptr where there is no room for it.
  Arrival* add(const Arrival& arrival) {
    if (size_ == kMax) return nullptr;
    arrivals_[size_] = arrival;
    arrivals_[size_].name = names_.keep(arrival.name);
    return &arrivals_[size_++];
  }
  Arrival* find(const link_map* map) {
    for (std::size_t i = 0; map != nullptr && i < size_; ++i) {
      if (arrivals_[i].map == map) return &arrivals_[i];
    }
    return nullptr;
  }
  void clear() {
    size_ = 0;
    names_.clear();
  }

 private:
  static constexpr std::size_t kMax = 512;
  Arrival arrivals_[kMax] = {};
  std::size_t size_ = 0;
  TextStore names_;
};

/// An object that the loader says it unloads.
struct Departure {
  std::uintptr_t base = 0;
  const void* inside = nullptr;  ///< An address in the object.
  std::string_view path;
  Lmid_t space = 0;
};

class Departures {
 public:
  /// False where there is no room for it.
  bool add(const Departure& departure) {
    if (size_ == kMax) return false;
    items_[size_] = departure;
    items_[size_].path = paths_.keep(departure.path);
    return items_[size_++].path.size() == departure.path.size();
  }
  [[nodiscard]] const Departure* begin() const { return items_; }
  [[nodiscard]] const Departure* end() const { return items_ + size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  void clear() {
    size_ = 0;
    paths_.clear();
  }

 private:
  static constexpr std::size_t kMax = 128;
  Departure items_[kMax] = {};
  std::size_t size_ = 0;
  TextStore paths_;
};

}  // namespace cudart_doctor::recorder
