#include "cudart_doctor/app/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "cudart_doctor/sys/output_file.hpp"

namespace cudart_doctor {

void start_log(const std::string& level) {
  auto logger = spdlog::stderr_logger_st("cudart-doctor");
  logger->set_pattern("cudart-doctor: %l: %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

void log_error(std::string_view message) { spdlog::error("{}", message); }

void log_info(std::string_view message) { spdlog::info("{}", message); }

void tell(std::string_view message) {
  const std::string line = "cudart-doctor: " + std::string(message) + "\n";
  // Nothing can be done where stderr is closed.
  (void)write_all(STDERR_FILENO, line);
}

}  // namespace cudart_doctor
