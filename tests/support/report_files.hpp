// Reports as files in every format for programs, for tests that read them with the libraries of
// those programs.
#pragma once

#include <string>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor::testing {

/// Writes `stem`.json, .prom, .xml, .line, .nagios and .github.
void write_formats(const std::string& stem, const Report& report);

}  // namespace cudart_doctor::testing
