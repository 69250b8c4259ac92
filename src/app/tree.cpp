#include "cudart_doctor/app/tree.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/render/tree.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "tree_look.hpp"
#include "tree_redact.hpp"

namespace cudart_doctor {
namespace {

std::string rendered_tree(const Options& options, const World& world, const TreeReport& report) {
  switch (options.format) {
    case Format::json: return render_tree_json(report);
    case Format::line: return render_tree_line(report);
    case Format::prometheus: return render_tree_prometheus(report);
    case Format::text:
    case Format::markdown:
    case Format::html:
    case Format::junit: break;  // The command line refuses the last three.
  }
  return render_tree_text(report, text_options(options, world));
}

}  // namespace

WorkResult inspect_many(const Options& options, const World& world) {
  const auto end = std::chrono::steady_clock::now() + options.timeout;
  const auto how = read_judging_until(options, end);
  if (!how) return failed(options, how.error());
  std::uint64_t salt = 0;
  if (::getentropy(&salt, sizeof salt) != 0) salt = static_cast<std::uint64_t>(monotonic_now());
  auto seen = look_at_many({options, world, *how, end, salt});
  if (!seen) return failed(options, seen.error());
  seen->report.fail_on = options.fail_on;
  seen->report.exit_style = options.exit_style;
  conclude(seen->report);
  const TreeReport report =
      options.redact ? without_names(std::move(*seen)) : std::move(seen->report);
  WorkResult result;
  result.code = report.exit_code;
  result.output = rendered_tree(options, world, report);
  return result;
}

}  // namespace cudart_doctor
