#include "support/report_files.hpp"

#include <fstream>

#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor::testing {

void write_formats(const std::string& stem, const Report& report) {
  std::ofstream(stem + ".json") << render_json(report);
  std::ofstream(stem + ".prom") << render_prometheus(report);
  std::ofstream(stem + ".xml") << render_junit(report);
  std::ofstream(stem + ".line") << render_line(report);
  Report nagios = report;
  nagios.verdict.exit_style = ExitStyle::nagios;
  nagios.verdict.exit_code = exit_code_of(nagios.verdict.end, ExitStyle::nagios);
  std::ofstream(stem + ".nagios") << render_line(nagios);
  std::ofstream(stem + ".github") << render_github(report);
}

}  // namespace cudart_doctor::testing
