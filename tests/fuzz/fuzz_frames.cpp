// Bytes of a probe child: none may crash the reader, and what is accepted can be written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cudart_doctor/probe/protocol.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  FrameReader reader;
  // In two pieces, as a pipe may deliver them.
  reader.add(bytes.substr(0, size / 2));
  reader.add(bytes.substr(size / 2));
  while (true) {
    const auto frame = reader.next();
    if (!frame || !*frame) break;
    const std::string text = encode_frame(**frame);
    FrameReader again;
    again.add(text);
    const auto back = again.next();
    // Fields that were left out can make it longer than the limit.
    if (!back && back.error().kind == ErrorKind::limit) continue;
    if (!back || !*back || encode_frame(**back) != text) std::abort();
  }
  (void)parse_order(bytes);
  return 0;
}
