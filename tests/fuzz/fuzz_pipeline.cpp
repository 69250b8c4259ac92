// Any bytes as a snapshot's two files (the JSON, a NUL, the text of maps): a clear error, or a
// report that every format can print, and the same one from the snapshot written again.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/render/render.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const std::string text(data, data + size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const std::string maps = cut == text.size() ? "" : text.substr(cut + 1);
  const auto snapshot = snapshot_from_json(text.substr(0, cut), maps, "snapshot.json");
  if (!snapshot) {
    if (snapshot.error().message.empty()) std::abort();
    return 0;
  }
  const Report report = make_report(*snapshot, {});
  const std::string json = render_json(report);
  if (!nlohmann::json::accept(json)) std::abort();
  for (const std::string& page :
       {render_text(report, {}), render_text(report, {.verbose = true, .columns = kFewestColumns}),
        render_markdown(report), render_html(report), render_line(report),
        render_prometheus(report), render_junit(report), render_github(report)}) {
    if (page.find('\x1b') != std::string::npos) std::abort();
  }
  const auto again = snapshot_from_json(snapshot_to_json(*snapshot), maps, "snapshot.json");
  if (!again || render_json(make_report(*again, {})) != json) std::abort();
  return 0;
}
