#include "connection.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>

#include "cudart_doctor/formats/recorder_limits.hpp"
#include "system_calls.hpp"

namespace cudart_doctor::recorder {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

struct TimeSpec {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
};
/// For SO_SNDTIMEO: it bounds connect() and send().
struct TimeValue {
  std::int64_t seconds = 1;
  std::int64_t microseconds = 0;
};
struct PollEntry {
  int fd = -1;
  short events = 1;  // POLLIN
  short revents = 0;
};

struct SocketPath {
  char mark[kSocketPathSize];
};
/// The launcher writes the path over the mark. Volatile: the compiler must not know the text.
volatile const SocketPath kSocketPath = [] {
  SocketPath path{};
  for (std::size_t i = 0; i < sizeof kSocketPathMark; ++i) path.mark[i] = kSocketPathMark[i];
  return path;
}();

sockaddr_un launcher_address() {
  sockaddr_un target{};
  static_assert(sizeof target.sun_path == kSocketPathSize);
  target.sun_family = AF_UNIX;
  for (std::size_t i = 0; i < kSocketPathSize; ++i) target.sun_path[i] = kSocketPath.mark[i];
  return target;
}

}  // namespace

bool Connection::open() {
  const int kind = SOCK_SEQPACKET | SOCK_CLOEXEC | (given_up_ ? SOCK_NONBLOCK : 0);
  const long fd = call({.number = __NR_socket, .first = AF_UNIX, .second = kind});
  if (fd < 0) return false;
  const TimeValue limit;
  call({.number = __NR_setsockopt,
        .first = fd,
        .second = SOL_SOCKET,
        .third = SO_SNDTIMEO,
        .fourth = address(&limit),
        .fifth = sizeof limit});
  const sockaddr_un target = launcher_address();
  // Each interruption would begin the kernel's second anew.
  const std::int64_t end = monotonic() + kSecond;
  long result = 0;
  do {
    result = call(
        {.number = __NR_connect, .first = fd, .second = address(&target), .third = sizeof target});
  } while (result == -EINTR && monotonic() < end);
  if (result == 0) {
    fd_ = static_cast<int>(fd);
    is_open_ = true;
    return true;
  }
  given_up_ = given_up_ || result == -EAGAIN || result == -EINTR;
  call({.number = __NR_close, .first = fd});
  return false;
}

bool Connection::send(std::string_view record) {
  const bool was_open = is_open_;
  if (!is_open_ && !open()) return false;
  long result = transmit(record);
  // The launcher closes what was silent for long: between two objects on a slow disk, say.
  if (was_open && (result == -EPIPE || result == -ECONNRESET)) {
    close();
    if (!open()) return false;
    result = transmit(record);
  }
  if (result == static_cast<long>(record.size())) return true;
  given_up_ = given_up_ || result == -EAGAIN || result == -EINTR;
  if (result != -EMSGSIZE) close();
  return false;
}

long Connection::transmit(std::string_view record) const {
  const std::int64_t end = monotonic() + kSecond;
  long result = 0;
  do {
    result = call(
        {.number = __NR_sendto,
         .first = fd_,
         // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): its size is the next argument
         .second = address(record.data()),
         .third = static_cast<long>(record.size()),
         .fourth = MSG_NOSIGNAL});
  } while (result == -EINTR && monotonic() < end);
  return result;
}

bool Connection::hears_within_a_second() const {
  const std::int64_t deadline = monotonic() + kSecond;
  PollEntry entry{.fd = fd_};
  long ready = 0;
  do {
    const std::int64_t left = deadline - monotonic();
    if (left <= 0) return false;
    TimeSpec limit{.seconds = left / kSecond, .nanoseconds = left % kSecond};
    ready = call(
        {.number = __NR_ppoll, .first = address(&entry), .second = 1, .third = address(&limit)});
  } while (ready == -EINTR);
  return ready != 0;
}

Answer Connection::wait() {
  // By seconds, not by the clock: while both were stopped together nobody was silent.
  int silent = 0;
  while (is_open_ && !given_up_ && silent < kSecondsOfSilence) {
    if (!hears_within_a_second()) {
      ++silent;
      continue;
    }
    char byte = 0;
    const long got = call({.number = __NR_recvfrom,
                           .first = fd_,
                           .second = address(&byte),
                           .third = 1,
                           .fourth = MSG_DONTWAIT});
    if (got == -EINTR || got == -EAGAIN) continue;
    if (got != 1) return Answer::none;
    silent = 0;
    if (byte != kWait) return byte == kHold ? Answer::hold : Answer::proceed;
  }
  given_up_ = true;
  return Answer::none;
}

void Connection::close() {
  if (is_open_) call({.number = __NR_close, .first = fd_});
  is_open_ = false;
}

}  // namespace cudart_doctor::recorder
