// Any bytes as a report to compare: refused, or equal to itself and printed.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/formats/report_json.hpp"
#include "cudart_doctor/render/diff.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const std::string text(data, data + size);
  const auto digest = parse_report(text);
  if (!digest) return 0;
  const Comparison same = compare({*digest, *digest});
  if (!same.equal() || !differences(*digest, *digest).empty()) std::abort();
  (void)render_diff_text(same, {});
  (void)render_diff_json(same, 0);
  return 0;
}
