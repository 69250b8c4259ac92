// Any bytes as a log, whole and in pieces, and as a word on the command line.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cudart_doctor/render/explain.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const std::string text(data, data + size);
  LogReader whole;
  whole.feed(text);
  const Explanation explanation{LogPage{whole.finish(), false}, nullptr, 0};
  const std::string document = render_explain_json(explanation);
  (void)render_explain_text(explanation, {});
  // Where the bytes are cut must not matter.
  LogReader pieces;
  for (std::size_t i = 0; i < size; i += 7) pieces.feed(std::string_view(text).substr(i, 7));
  if (render_explain_json({LogPage{pieces.finish(), false}, nullptr, 0}) != document) std::abort();
  // Words alone: what looks like a long one is soon known, and slow to find.
  if (size <= 12) (void)look_up(text);
  return 0;
}
