// Any bytes as a snapshot's two files (the JSON, a NUL, the text of maps): a clear error, or a
// report that every format can print, and the same one from the snapshot written again.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/render/render.hpp"
#include "fuzz/bundle_input.hpp"

namespace {

using namespace cudart_doctor;

constexpr std::size_t kForms = 9;

/// The report's JSON in form 0, which is checked; its page in the others.
std::string page(const Report& report, std::size_t form) {
  switch (form) {
    case 1: return render_text(report, {});
    case 2: return render_text(report, {.verbose = true, .columns = kFewestColumns});
    case 3: return render_markdown(report);
    case 4: return render_html(report);
    case 5: return render_line(report);
    case 6: return render_prometheus(report);
    case 7: return render_junit(report);
    case 8: return render_github(report);
    default: return {};
  }
}

void check_json(const BundleInput& input, const Report& report) {
  const std::string json = render_json(report);
  if (!nlohmann::json::accept(json)) std::abort();
  const auto again =
      snapshot_from_json(snapshot_to_json(input.snapshot), input.maps, "snapshot.json");
  if (!again || render_json(make_report(*again, {})) != json) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = read_bundle_input(data, size);
  if (!input) return 0;
  const Report report = make_report(input->snapshot, {});
  // One form of each input: all of them take ten times as long as the inspection, and an input has
  // thousands of relatives that differ in nothing that a form could care about.
  const std::string bytes(data, data + size);
  const std::size_t form = std::hash<std::string_view>{}(bytes) % kForms;
  if (form == 0) check_json(*input, report);
  if (page(report, form).find('\x1b') != std::string::npos) std::abort();
  return 0;
}
