// Packets of the recorder, which sits in processes that nobody trusts: none may crash the reader,
// and what is accepted keeps the limits.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cudart_doctor/formats/recorder_wire.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto record = parse_record({reinterpret_cast<const char*>(data), size});
  if (!record) return 0;
  const bool negative = record->pid < 0 || record->parent_pid < 0 || record->monotonic < 0;
  if (size > kMaxRecord || negative || record->event.python.size() > kMaxPythonFrames) {
    std::abort();
  }
  return 0;
}
