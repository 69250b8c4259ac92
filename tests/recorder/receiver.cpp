// Starts a command under the recorder and writes what it says, one line of JSON a packet:
//   receiver FILE ANSWER -- COMMAND...
// ANSWER: proceed, hold, leave (the channel ends at the first packet), leave-at-sync (at the first
// `sync`), late (the first `sync` is kept waiting for 7 s, then as hold), deaf (packets are not
// even read). Its own exit code is the command's.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include "cudart_doctor/formats/recorder_environment.hpp"
#include "cudart_doctor/formats/recorder_wire.hpp"
#include "cudart_doctor/sys/recorder_channel.hpp"
#include "cudart_doctor/sys/recorder_files.hpp"

using namespace cudart_doctor;

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "0123456789abcdef"[byte >> 4U];
    out += "0123456789abcdef"[byte & 15U];
  }
  return out;
}

/// What is written of each packet, and how `sync` is answered.
class Receiver {
 public:
  Receiver(RecorderFiles files, const std::string& file, std::string answer)
      : files_(std::move(files)),
        channel_(files_->listener()),
        file_(std::fopen(file.c_str(), "we")),  // Not for the command.
        answer_(std::move(answer)) {
    write("{\"library\": \"" + files_->library() + "\"}");
  }
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() { std::fclose(file_); }

  [[nodiscard]] const std::string& library() const { return files_->library(); }

  /// Waits for packets at most `milliseconds`, and takes those that are there. False where none
  /// was.
  bool pump(int milliseconds) {
    if (!channel_ || answer_ == "deaf") {
      ::poll(nullptr, 0, milliseconds);
      return false;
    }
    std::vector<pollfd> entries;
    channel_->tend();
    if (late_ && std::chrono::steady_clock::now() >= late_->second) {
      channel_->answer(late_->first, kHold);
      late_.reset();
      answer_ = "hold";
    }
    for (const int fd : channel_->descriptors()) entries.push_back({fd, POLLIN, 0});
    if (::poll(entries.data(), entries.size(), milliseconds) <= 0) return false;
    for (const auto& packet : channel_->take()) {
      note(packet);
      if (answer_ == "leave" || (answer_ == "leave-at-sync" && is_sync(packet))) {
        channel_.reset();
        files_.reset();
        return false;
      }
    }
    return true;
  }

 private:
  static bool is_sync(const RecorderPacket& packet) {
    const auto record = parse_record(packet.bytes);
    return record && record->kind == WireKind::sync;
  }

  void note(const RecorderPacket& packet) {
    const auto record = parse_record(packet.bytes);
    write("{\"pid\": " + std::to_string(packet.pid) + ", \"connection\": " +
          std::to_string(packet.connection) + ", \"parsed\": " + (record ? "true" : "false") +
          ", \"bytes\": \"" + hex(packet.bytes) + "\"}");
    if (!is_sync(packet)) return;
    if (answer_ == "proceed") channel_->answer(packet.connection, kProceed);
    if (answer_ == "hold") channel_->answer(packet.connection, kHold);
    if (answer_ != "late") return;
    const auto now = std::chrono::steady_clock::now();
    channel_->keep_waiting(packet.connection, now + std::chrono::minutes(1));
    late_.emplace(packet.connection, now + std::chrono::seconds(7));
  }

  void write(const std::string& line) {
    std::fputs((line + "\n").c_str(), file_);
    std::fflush(file_);
  }

  std::optional<RecorderFiles> files_;
  std::optional<RecorderChannel> channel_;
  std::FILE* file_;
  std::string answer_;
  /// Who is kept waiting, and until when.
  std::optional<std::pair<ConnectionId, RecorderChannel::Time>> late_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  auto files = lay_recorder(recorder_places());
  if (!files) {
    std::cerr << files.error().message << '\n';
    return 2;
  }
  Receiver receiver(std::move(*files), argv[1], argv[2]);
  const std::string audit = recorder_audit(variable("LD_AUDIT"), receiver.library());
  const std::string tunables = recorder_tunables(variable("GLIBC_TUNABLES"), 4096);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("LD_AUDIT", audit.c_str(), 1);
    ::setenv("GLIBC_TUNABLES", tunables.c_str(), 1);
    ::execvp(argv[4], argv + 4);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) receiver.pump(1);
  while (receiver.pump(0)) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
