// A child of the probe that does what a script in its environment says: SCRIPT is a list of
// "SIDE:RUNTIME:STAGE=ACTION", where * stands for any. REPORT names what it tells of itself in the
// detail of the stage `devices` (`symbols` of a look-alike).
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

using namespace cudart_doctor;

namespace {

using namespace std::string_view_literals;

/// A whole frame of three bytes that are no JSON.
constexpr std::string_view kMalformed = "\x03\0\0\0{]}"sv;
/// A runtime that is in no order.
constexpr std::uint32_t kNobody = 77;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string list_of_descriptors() {
  std::vector<std::string> open;
  constexpr int kMost = 100;
  for (int fd = 0; fd < kMost; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) open.push_back(std::to_string(fd));
  }
  return join(open, " ");
}

std::string list_of_variables() {
  std::vector<std::string> all;
  for (char** entry = ::environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return join(all, "\n");
}

std::string report_of_itself() {
  const std::string what = variable("REPORT");
  if (what.empty()) return {};
  if (what == "descriptors") return list_of_descriptors();
  if (what == "environment") return list_of_variables();
  if (what == "signals") {
    struct sigaction action = {};
    ::sigaction(SIGPIPE, nullptr, &action);
    return action.sa_handler == SIG_DFL ? "default" : "changed";
  }
  constexpr std::string_view kLink = "link:";
  if (what.starts_with(kLink)) {
    std::array<char, 4096> text = {};
    const ssize_t size = ::readlink(what.c_str() + kLink.size(), text.data(), text.size());
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }
  if (what == "session") return ::getsid(0) == ::getpid() ? "its own" : "the doctor's";
  const UniqueFd fd(::open(what.c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = read_descriptor(fd.get(), what, 1U << 20U);
  return text ? *text : text.error().message;
}

void start_daemon() {
  if (::fork() != 0) return;
  ::setsid();
  // Twice: nobody of its own group or session leads to it.
  if (::fork() != 0) ::_exit(0);
  while (true) ::pause();
}

class ScriptedChild {
 public:
  explicit ScriptedChild(ProbeOrder order) : order_(std::move(order)) {}

  int run() {
    act("*", Stage::start);
    bool first = true;
    for (const OrderedRuntime& runtime : order_.runtimes) {
      runtime_ = runtime.index;
      tells_at_ = runtime.symbols_only ? Stage::symbols : Stage::devices;
      for (const Stage stage : {Stage::load, Stage::symbols}) do_stage(stage);
      if (runtime.symbols_only) continue;
      do_stage(Stage::devices);
      if (order_.driver_checks && first) check_driver();
      first = false;
      if (order_.side == ProbeSide::exporter) {
        do_stage(Stage::ipc_export);
        meet_other(Stage::ipc_verify);
      } else {
        do_stage(Stage::ipc_compute);
        meet_other(Stage::ipc_close);
      }
    }
    Frame done;
    done.kind = FrameKind::done;
    send(done);
    return 0;
  }

 private:
  void check_driver() {
    if (order_.side != ProbeSide::exporter) return;
    do_stage(Stage::control);
    Frame frame;
    frame.kind = FrameKind::mechanism;
    frame.mechanism.outcome = StageOutcome::pass;
    send(frame);
  }

  void send(const Frame& frame) {
    if (!write_all(kProbeResultFd, encode_frame(frame))) ::_exit(1);
  }

  Frame frame_of(FrameKind kind, Stage stage, StageOutcome outcome) const {
    Frame frame;
    frame.kind = kind;
    frame.runtime = runtime_;
    frame.stage.stage = stage;
    frame.stage.outcome = outcome;
    return frame;
  }

  void do_stage(Stage stage) {
    send(frame_of(FrameKind::begin, stage, StageOutcome::begun));
    end_stage(stage, act(std::to_string(runtime_), stage));
  }

  void end_stage(Stage stage, StageOutcome outcome) {
    Frame frame = frame_of(FrameKind::end, stage, outcome);
    if (stage == tells_at_) frame.stage.detail = report_of_itself();
    send(frame);
  }

  /// Each waits for the other: a lost one is noticed.
  void meet_other(Stage stage) {
    send(frame_of(FrameKind::begin, stage, StageOutcome::begun));
    act(std::to_string(runtime_), stage);
    const char mine = 'x';
    char theirs = 0;
    const bool met = ::write(kProbePeerFd, &mine, 1) == 1 && ::read(kProbePeerFd, &theirs, 1) == 1;
    end_stage(stage, met ? StageOutcome::pass : StageOutcome::fail);
  }

  StageOutcome act(std::string_view runtime, Stage stage) {
    const std::string script = variable("SCRIPT");
    for (const std::string_view line : split(script, ' ')) {
      const std::size_t equals = line.find('=');
      const auto place = split(line.substr(0, equals), ':');
      constexpr std::size_t kParts = 3;
      if (equals == std::string_view::npos || place.size() != kParts) continue;
      const std::string_view side = order_.side == ProbeSide::exporter ? "exporter" : "importer";
      const auto fits = [](std::string_view pattern, std::string_view value) {
        return pattern == "*" || pattern == value;
      };
      if (fits(place[0], side) && fits(place[1], runtime) &&
          place[2] == kStageNames.at(static_cast<std::size_t>(stage))) {
        return do_action(line.substr(equals + 1));
      }
    }
    return StageOutcome::pass;
  }

  StageOutcome do_action(std::string_view action) {
    constexpr std::string_view kInCompany = "in-company-";
    if (action.starts_with(kInCompany)) {
      if (order_.runtimes.size() == 1) return StageOutcome::pass;
      action.remove_prefix(kInCompany.size());
    }
    constexpr std::string_view kAfterFailure = "after-failure-";
    if (action.starts_with(kAfterFailure)) {
      if (!failed_) return StageOutcome::pass;
      action.remove_prefix(kAfterFailure.size());
    }
    if (action == "fail") {
      failed_ = true;
      return StageOutcome::fail;
    }
    if (action == "crash") ::raise(SIGSEGV);
    if (action == "bus") ::raise(SIGBUS);
    if (action == "exit") ::_exit(0);
    if (action == "exit-1") ::_exit(1);
    if (action == "daemon") start_daemon();
    if (action == "print") print_much();
    while (action == "print-for-ever") print_much();
    if (action == "malformed") static_cast<void>(write_all(kProbeResultFd, kMalformed));
    if (action == "foreign") {
      runtime_ = kNobody;
      send(frame_of(FrameKind::begin, Stage::load, StageOutcome::begun));
    }
    if (action == "close") ::close(kProbeResultFd);
    while (action == "hang" || action == "close" || action == "malformed") ::pause();
    return StageOutcome::pass;
  }

  static void print_much() {
    static_cast<void>(write_all(STDOUT_FILENO, "the first line\n"));
    const std::string block(1U << 20U, 'x');
    constexpr int kBlocks = 10;
    for (int i = 0; i < kBlocks; ++i) static_cast<void>(write_all(STDERR_FILENO, block));
    static_cast<void>(write_all(STDOUT_FILENO, "\nthe last line\n"));
  }

  ProbeOrder order_;
  std::uint32_t runtime_ = 0;
  bool failed_ = false;
  Stage tells_at_ = Stage::devices;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (std::string_view(argv[1]) == kGateChildArgument) return gate_child_main();
  const auto text = read_descriptor(kProbeOrderFd, "order", 1U << 20U);
  auto order = text ? parse_order(*text) : tl::unexpected(text.error());
  return order ? ScriptedChild(std::move(*order)).run() : 3;
}
