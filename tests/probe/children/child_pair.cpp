#include "child_pair.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "cudart_doctor/sys/unique_fd.hpp"

namespace probe_test {
namespace {

using cudart_doctor::Frame;
using cudart_doctor::FrameKind;
using cudart_doctor::FrameReader;
using cudart_doctor::ProbeOrder;
using cudart_doctor::ProbeSide;
using cudart_doctor::UniqueFd;
using Clock = std::chrono::steady_clock;

struct Running {
  pid_t pid = -1;
  UniqueFd results;
  UniqueFd output;
  FrameReader reader;
  ChildRecord record;
};

UniqueFd make_order(const PairOrder& order, ProbeSide side) {
  ProbeOrder out;
  out.side = side;
  out.bound_names = order.bound_names;
  out.devices = order.devices;
  out.driver_checks = order.driver_checks;
  for (std::size_t i = 0; i < order.runtimes.size(); ++i) {
    out.runtimes.push_back({.index = static_cast<std::uint32_t>(i),
                            .fd = cudart_doctor::kProbeFirstFileFd + static_cast<int>(i),
                            .symbols_only = order.symbols_only});
  }
  const std::string text = encode_order(out);
  UniqueFd fd(::memfd_create("order", 0));
  if (::write(fd.get(), text.data(), text.size()) < 0) std::abort();
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

/// Above everything that a child gets a number for.
int away(int fd) { return ::fcntl(fd, F_DUPFD_CLOEXEC, 200); }

[[noreturn]] void become(const PairOrder& order, std::array<int, 4> fds,
                         const std::vector<UniqueFd>& files) {
  const auto [results, output, peer, text] = fds;
  const std::array<int, 4> moved = {away(results), away(output), peer < 0 ? -1 : away(peer),
                                    away(text)};
  std::vector<int> opened;
  for (const UniqueFd& file : files) opened.push_back(away(file.get()));
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, 0);
  ::dup2(moved[1], 1);
  ::dup2(moved[1], 2);
  for (int fd = 3; fd < 200; ++fd) ::close(fd);
  ::dup2(moved[0], cudart_doctor::kProbeResultFd);
  if (moved[2] >= 0) ::dup2(moved[2], cudart_doctor::kProbePeerFd);
  ::dup2(moved[3], cudart_doctor::kProbeOrderFd);
  for (std::size_t i = 0; i < opened.size(); ++i) {
    ::dup2(opened[i], cudart_doctor::kProbeFirstFileFd + static_cast<int>(i));
  }
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  for (const auto& [name, value] : order.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execl(order.program.c_str(), "cudart-doctor", cudart_doctor::kProbeChildArgument.data(),
          nullptr);
  ::_exit(127);
}

Running start(const PairOrder& order, ProbeSide side, int peer,
              const std::vector<UniqueFd>& files) {
  int results[2] = {-1, -1};
  int output[2] = {-1, -1};
  if (::pipe2(results, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0) std::abort();
  const UniqueFd text = make_order(order, side);
  Running child;
  child.pid = ::fork();
  if (child.pid == 0) become(order, {results[1], output[1], peer, text.get()}, files);
  ::close(results[1]);
  ::close(output[1]);
  child.results = UniqueFd(results[0]);
  child.output = UniqueFd(output[0]);
  return child;
}

/// False at the end of the stream.
bool take(UniqueFd& fd, std::string& to) {
  std::array<char, 65536> buffer = {};
  const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
  if (count <= 0) {
    fd.reset();
    return false;
  }
  to.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

void take_frames(Running& child) {
  std::string bytes;
  if (!take(child.results, bytes)) return;
  child.reader.add(bytes);
  while (child.record.malformed.empty()) {
    auto frame = child.reader.next();
    if (!frame) child.record.malformed = frame.error().message;
    if (!frame || !*frame) return;
    child.record.frames.push_back(std::move(**frame));
  }
}

void listen(std::vector<Running>& children, Clock::time_point end) {
  while (true) {
    std::vector<pollfd> watched;
    for (const Running& child : children) {
      watched.push_back({child.results.get(), POLLIN, 0});
      watched.push_back({child.output.get(), POLLIN, 0});
    }
    bool open = false;
    for (const pollfd& one : watched) open = open || one.fd >= 0;
    if (!open) return;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) break;
    ::poll(watched.data(), watched.size(), static_cast<int>(left));
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (watched[2 * i].revents != 0) take_frames(children[i]);
      if (watched[2 * i + 1].revents != 0) take(children[i].output, children[i].record.output);
    }
  }
  for (Running& child : children) {
    child.record.late = true;
    ::kill(child.pid, SIGKILL);
  }
}

}  // namespace

PairRecord run_pair(const PairOrder& order) {
  std::vector<UniqueFd> files;
  for (const std::string& path : order.runtimes) {
    files.emplace_back(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  int sockets[2] = {-1, -1};
  if (order.importer && ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    std::abort();
  }
  const auto end = Clock::now() + std::chrono::milliseconds(order.deadline_ms);
  std::vector<Running> children;
  children.push_back(start(order, ProbeSide::exporter, sockets[0], files));
  if (order.importer) {
    children.push_back(start(order, ProbeSide::importer, sockets[1], files));
    ::close(sockets[0]);
    ::close(sockets[1]);
  }
  listen(children, end);
  for (Running& child : children) ::waitpid(child.pid, &child.record.status, 0);
  PairRecord record;
  record.exporter = std::move(children.front().record);
  if (order.importer) record.importer = std::move(children.back().record);
  return record;
}

std::string describe(const Frame& frame) {
  using cudart_doctor::kMechanismNames;
  using cudart_doctor::kStageNames;
  static constexpr std::array kOutcomes = {"pass", "fail", "skipped", "begun"};
  const auto outcome = [](auto value) {
    return std::string(kOutcomes.at(static_cast<std::size_t>(value)));
  };
  const auto text = [](std::optional<int> code, const std::string& call,
                       const std::string& detail) {
    std::string out;
    if (code && *code != 0) out += " " + std::to_string(*code);
    if (!call.empty()) out += " " + call;
    if (!detail.empty()) out += " (" + detail + ")";
    return out;
  };
  switch (frame.kind) {
    case FrameKind::end:
    case FrameKind::begin: {
      const auto& stage = frame.stage;
      std::string out(kStageNames.at(static_cast<std::size_t>(stage.stage)));
      if (stage.device >= 0) out += " d" + std::to_string(stage.device);
      if (stage.peer_device >= 0) out += " to d" + std::to_string(stage.peer_device);
      return out + " " + outcome(stage.outcome) + text(stage.code, stage.call, stage.detail);
    }
    case FrameKind::names: {
      std::string out = "names";
      for (const auto& name : frame.missing) out += " missing " + name;
      for (const auto& name : frame.elsewhere) out += " elsewhere " + name;
      return out;
    }
    case FrameKind::versions:
      return "versions runtime " + std::to_string(frame.runtime_version) + " driver " +
             std::to_string(frame.driver_version);
    case FrameKind::device:
      return "device " + std::to_string(frame.device.ordinal) + " " + frame.device.name + " " +
             frame.device.uuid + " " + std::to_string(frame.device.capability_major) + "." +
             std::to_string(frame.device.capability_minor) + " " +
             std::to_string(frame.device.memory_bytes) + " free " +
             std::to_string(frame.device.free_bytes) + " " + frame.device.image;
    case FrameKind::driver:
      return "driver " + frame.driver.path + " " + std::to_string(frame.driver.key.dev_major) +
             ":" + std::to_string(frame.driver.key.dev_minor) + " " +
             std::to_string(frame.driver.key.inode) + " " + std::to_string(frame.driver.version);
    case FrameKind::mechanism: {
      const auto& one = frame.mechanism;
      std::string out = "mechanism ";
      out += kMechanismNames.at(static_cast<std::size_t>(one.mechanism));
      out += " d" + std::to_string(one.device) + " " + outcome(one.outcome) +
             text(one.code, one.call, one.detail);
      if (one.error) out += " errno " + std::to_string(*one.error);
      return out;
    }
    case FrameKind::done: return "done";
  }
  return {};
}

}  // namespace probe_test
