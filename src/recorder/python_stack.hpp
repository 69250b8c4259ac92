// The Python code that is running in the calling thread.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

#include "fields.hpp"

namespace cudart_doctor::recorder {

class PythonStack {
 public:
  /// An object was mapped in the program's namespace: perhaps the one that holds Python.
  void arrive(const link_map& object);
  void depart(const link_map* object);
  /// The loader is done with a batch; what was mapped before can be called when the next begins.
  void settle();
  /// The stack as fields of a record, taken once a batch: frames, innermost first, without the
  /// import machinery, and a note where there are none or not all. "" where there is no Python.
  [[nodiscard]] std::string_view fields();

 private:
  void take();
  const link_map* python_ = nullptr;
  bool is_ready_ = false;
  bool is_taken_ = false;
  /// Paths of an object, its requester and its caller find room beside it.
  Fields<12288> fields_;
};

}  // namespace cudart_doctor::recorder
