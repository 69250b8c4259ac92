// What is said on stderr, the log (spdlog) among it; stdout belongs to the report alone.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// Writes all of `bytes` to stderr. Gives up, for good, where that is no terminal and takes nothing
/// for five seconds: a full pipe that nobody reads must not keep the exit code back.
void say(std::string_view bytes);

/// Sets up the log at `level` ("trace" to "off").
void start_log(const std::string& level);

/// `message` must be printable already.
void log_error(std::string_view message);
void log_info(std::string_view message);

/// Not a part of the log: one line that is always shown.
void tell(std::string_view message);

}  // namespace cudart_doctor
