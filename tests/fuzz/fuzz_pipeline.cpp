// Any bytes as a snapshot's two files (the JSON, a NUL, the text of maps): a clear error, or a
// report that every format can print, and the same one from the snapshot written again.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/render/render.hpp"
#include "fuzz/bundle_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto input = read_bundle_input(data, size);
  if (!input) return 0;
  const Report report = make_report(input->snapshot, {});
  const std::string json = render_json(report);
  if (!nlohmann::json::accept(json)) std::abort();
  for (const std::string& page :
       {render_text(report, {}), render_text(report, {.verbose = true, .columns = kFewestColumns}),
        render_markdown(report), render_html(report), render_line(report),
        render_prometheus(report), render_junit(report), render_github(report)}) {
    if (page.find('\x1b') != std::string::npos) std::abort();
  }
  const auto again =
      snapshot_from_json(snapshot_to_json(input->snapshot), input->maps, "snapshot.json");
  if (!again || render_json(make_report(*again, {})) != json) std::abort();
  return 0;
}
