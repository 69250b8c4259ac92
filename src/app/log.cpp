#include "cudart_doctor/app/log.hpp"

#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace cudart_doctor {
namespace {

/// Whether stderr takes something within a few seconds. A person may have stopped a terminal, and
/// is waited for.
bool takes_more() {
  constexpr int kPatienceMs = 5'000;
  pollfd watched = {STDERR_FILENO, POLLOUT, 0};
  int ready = 0;
  do {
    ready = ::poll(&watched, 1, ::isatty(STDERR_FILENO) == 1 ? -1 : kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    say({line.data(), line.size()});
  }
  void flush_() override {}
};

}  // namespace

void say(std::string_view bytes) {
  constexpr std::size_t kSure = 4096;  // PIPE_BUF: a pipe that takes anything takes as much.
  static bool gave_up = false;
  while (!bytes.empty() && !gave_up) {
    gave_up = !takes_more();
    if (gave_up) return;
    const ssize_t count = ::write(STDERR_FILENO, bytes.data(), std::min(bytes.size(), kSure));
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    // Nothing can be done where stderr is closed.
    if (count < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void start_log(const std::string& level) {
  auto logger = std::make_shared<spdlog::logger>("cudart-doctor", std::make_shared<StderrSink>());
  logger->set_pattern("cudart-doctor: %l: %v");
  logger->set_level(spdlog::level::from_str(level));
  spdlog::set_default_logger(std::move(logger));
}

void log_error(std::string_view message) { spdlog::error("{}", message); }

void log_info(std::string_view message) { spdlog::info("{}", message); }

void tell(std::string_view message) { say("cudart-doctor: " + std::string(message) + "\n"); }

}  // namespace cudart_doctor
