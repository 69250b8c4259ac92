#include "output_stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10U;
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20U;

tl::unexpected<Error> failed(const char* what) {
  return tl::unexpected(system_error(errno, what, Need::file_access));
}

/// The pipe or terminal behind `fd` opened anew: what is not blocking there leaves the others who
/// have `fd` as they were. A file never blocks, and would get another offset.
UniqueFd open_anew(int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || (!S_ISFIFO(info.st_mode) && !S_ISCHR(info.st_mode))) return {};
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  return UniqueFd(::open(name.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

/// Writes to a descriptor that may block: no more than what a ready one is sure to take.
ssize_t write_if_ready(int fd, std::string_view bytes) {
  constexpr std::size_t kSure = 4096;  // PIPE_BUF
  pollfd watched = {fd, POLLOUT, 0};
  if (::poll(&watched, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd, bytes.data(), std::min(bytes.size(), kSure));
}

}  // namespace

Result<OutputStream> OutputStream::open(int target) {
  OutputStream stream;
  stream.caller_ = target;
  stream.own_way_ = open_anew(target);
  stream.is_terminal_ = ::isatty(target) == 1;
  const auto made = stream.is_terminal_ ? stream.make_terminal_end() : stream.make_pipe_end();
  if (!made) return tl::unexpected(made.error());
  ::fcntl(stream.ours_.get(), F_SETFL, O_NONBLOCK);
  return stream;
}

Result<void> OutputStream::make_pipe_end() {
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  ours_ = std::move(pipe->first);
  theirs_ = std::move(pipe->second);
  return {};
}

Result<void> OutputStream::make_terminal_end() {
  termios how = {};
  winsize size = {};
  if (::tcgetattr(caller_, &how) != 0) return failed("tcgetattr");
  ::ioctl(caller_, TIOCGWINSZ, &size);
  // The terminal behind does what is to be done with line ends; doing it twice would show.
  ::cfmakeraw(&how);
  int leader = -1;
  int follower = -1;
  if (::openpty(&leader, &follower, nullptr, &how, &size) != 0) return failed("openpty");
  ours_ = UniqueFd(leader);
  theirs_ = UniqueFd(follower);
  ::fcntl(leader, F_SETFD, FD_CLOEXEC);
  ::fcntl(follower, F_SETFD, FD_CLOEXEC);
  return {};
}

int OutputStream::target() const { return own_way_.valid() ? own_way_.get() : caller_; }

int OutputStream::waits_for() const { return waits_for_reader() ? target() : ours_.get(); }

void OutputStream::close_target() {
  if (!own_way_.valid()) ::close(caller_);
  own_way_.reset();
}

bool OutputStream::write_left() {
  while (!left_.empty()) {
    const ssize_t count = own_way_.valid() ? ::write(own_way_.get(), left_.data(), left_.size())
                                           : write_if_ready(caller_, left_);
    if (count >= 0) {
      left_.erase(0, static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      // Nobody takes it any more: the command is to get the error that it would have got.
      abandon();
      return false;
    }
  }
  return true;
}

bool OutputStream::reader_is_gone() const {
  pollfd watched = {target(), 0, 0};
  return ::poll(&watched, 1, 0) > 0;
}

std::string OutputStream::copy() {
  std::string seen;
  // What waits for the reader is woken by its going away, and would be again and again.
  if (reader_is_gone()) abandon();
  while (write_left() && seen.size() < kMostAtOnce) {
    if (!read_piece()) break;
    seen += left_;
  }
  return seen;
}

std::string OutputStream::take_rest() {
  const std::size_t before = left_.size();
  while (left_.size() - before < kMostAtOnce && read_piece()) {
  }
  return left_.substr(before);
}

bool OutputStream::read_piece() {
  // Not on the stack, which may be small.
  const auto buffer = std::make_unique_for_overwrite<std::array<char, kPiece>>();
  while (ours_.valid()) {
    const ssize_t count = ::read(ours_.get(), buffer->data(), buffer->size());
    if (count > 0) {
      left_.append(buffer->data(), static_cast<std::size_t>(count));
      return true;
    }
    if (count < 0 && errno == EAGAIN) return false;
    // A pseudo terminal ends with EIO.
    if (count == 0 || errno != EINTR) ours_.reset();
  }
  return false;
}

bool OutputStream::copy_window_size() {
  winsize now = {};
  winsize before = {};
  if (!is_terminal_ || !ours_.valid() || ::ioctl(caller_, TIOCGWINSZ, &now) != 0 ||
      ::ioctl(ours_.get(), TIOCGWINSZ, &before) != 0 ||
      std::memcmp(&now, &before, sizeof now) == 0) {
    return false;
  }
  return ::ioctl(ours_.get(), TIOCSWINSZ, &now) == 0;
}

}  // namespace cudart_doctor
