// A probe child from exec to _exit: descriptors out of reach, the order, the side's work, done.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "child_world.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "exporter.hpp"
#include "importer.hpp"

namespace cudart_doctor {
namespace {

/// A wrong order, or none: nothing was run.
constexpr int kNoOrder = 2;
constexpr std::size_t kMaxOrder = 1u << 20;

Result<std::string> read_order() {
  std::string text;
  std::array<char, 16384> buffer = {};
  while (text.size() <= kMaxOrder) {
    const ssize_t count = ::read(kProbeOrderFd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorKind::io, "the order cannot be read", errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return fail(ErrorKind::limit, "the order has no end");
}

/// Away from the numbers that a library might close or reuse by mistake; closed on exec, since a
/// constructor that starts a program must not keep the runner's pipe open.
UniqueFd move_away(int fd) {
  rlimit limit = {};
  constexpr int kEnough = 1024;
  constexpr int kRoom = 64;
  int high = 0;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    high = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kEnough)) - kRoom;
  }
  int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, std::max(high, fd + 1));
  if (moved < 0) moved = ::fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
  if (moved >= 0) ::close(fd);
  return UniqueFd(moved);
}

int complain(const std::string& text) {
  (void)write_all(STDERR_FILENO, "cudart-doctor probe child: " + text + "\n");
  return kNoOrder;
}

}  // namespace

const DriverApi* DriverSession::look() {
  if (!opened_) opened_ = open_driver();
  if (!*opened_) {
    error_ = opened_->error().message;
    return nullptr;
  }
  return &**opened_;
}

const DriverApi* DriverSession::use() {
  const DriverApi* api = look();
  if (api == nullptr || initialised_) return api;
  if (const int code = api->init(0); code != 0) {
    error_ = "cuInit gave " + std::to_string(code);
    return nullptr;
  }
  initialised_ = true;
  return api;
}

int probe_child_main() {
  // The runner is gone: write() says so. What the candidate's process does with it is its own.
  (void)std::signal(SIGPIPE, SIG_IGN);
  // A process that changed its uid is not dumpable, and pidfd_getfd towards it would be refused for
  // that reason alone.
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  const auto text = read_order();
  if (!text) return complain(text.error().message);
  const auto order = parse_order(*text);
  if (!order) return complain(order.error().message);
  ::close(kProbeOrderFd);
  const UniqueFd results = move_away(kProbeResultFd);
  if (!results.valid()) return complain("there is no descriptor for results");
  Peer peer(move_away(kProbePeerFd));
  const FrameOut out(results.get());
  ChildWorld world{.out = out, .order = *order, .peer = peer, .driver = {}, .sample = {}};
  if (order->side == ProbeSide::importer) {
    run_importer(world);
  } else {
    run_exporter(world);
  }
  Frame done;
  done.kind = FrameKind::done;
  if (!order->runtimes.empty()) done.runtime = order->runtimes.back().index;
  out.send(done);
  // Destructors of foreign libraries have nothing to say here, and may crash.
  ::_exit(0);
}

}  // namespace cudart_doctor
