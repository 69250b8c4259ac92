// The log on stderr (spdlog); stdout belongs to the report alone.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// Sets up the log at `level` ("trace" to "off").
void start_log(const std::string& level);

/// `message` must be printable already.
void log_error(std::string_view message);
void log_info(std::string_view message);

/// Not a part of the log: one line that is always shown.
void tell(std::string_view message);

}  // namespace cudart_doctor
