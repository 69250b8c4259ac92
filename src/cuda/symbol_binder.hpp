// Fills tables of function pointers from one library and notes what it lacks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/cuda/library.hpp"

namespace cudart_doctor {

class SymbolBinder {
 public:
  explicit SymbolBinder(const Library& library) : library_(library) {}

  /// A function that has to be there.
  template <typename Function>
  void need(const char* name, Function*& to) {
    want(name, to);
    if (to == nullptr) missing_.emplace_back(name);
  }
  /// One that may be missing.
  template <typename Function>
  void want(const char* name, Function*& to) {
    // POSIX has dlsym's object pointer be a function's address.
    to = reinterpret_cast<Function*>(library_.find(name).address);
  }
  [[nodiscard]] std::vector<std::string> missing() && { return std::move(missing_); }

 private:
  const Library& library_;
  std::vector<std::string> missing_;
};

}  // namespace cudart_doctor
