// Between fork and exec: only what is safe there, in the order that the kernel allows.
#include "start_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

/// Linux 5.11; the number is the same on every architecture.
constexpr unsigned kCloseRangeCloexec = 1U << 2U;

/// One descriptor of ours and the number that the child finds it under.
struct Placed {
  int from = -1;
  int to = -1;
};

struct ChildSide {
  pid_t parent = 0;
  std::vector<Placed> placed;
  std::vector<const char*> arguments;
  std::vector<const char*> environment;
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(text.c_str());
  result.push_back(nullptr);
  return result;
}

/// Everything from `first` up is closed by exec: also what we were started with ourselves.
void close_on_exec_from(int first) {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, kCloseRangeCloexec) == 0) {
    return;
  }
  rlimit limit = {};
  constexpr rlim_t kMost = 1U << 16U;
  const rlim_t count = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : kMost;
  for (int fd = first; fd < static_cast<int>(std::min(count, kMost)); ++fd) {
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

/// Places the descriptors; `kept` are wanted until exec and move out of the way. False: errno.
bool place_descriptors(std::vector<Placed>& placed, std::span<int* const> kept) {
  int above = kProbeFirstFileFd;
  for (const Placed& one : placed) above = std::max(above, one.to + 1);
  for (Placed& one : placed) {
    one.from = ::fcntl(one.from, F_DUPFD_CLOEXEC, above);
    if (one.from < 0) return false;
  }
  for (int* const fd : kept) {
    if (*fd < 0) continue;
    *fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, above);
    if (*fd < 0) return false;
  }
  close_on_exec_from(STDERR_FILENO + 1);
  return std::all_of(placed.begin(), placed.end(),
                     [](const Placed& one) { return ::dup2(one.from, one.to) >= 0; });
}

/// The doctor's own settings are no part of the target's view.
void reset_process() {
  for (int signal = 1; signal < NSIG; ++signal) (void)::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // The worker limits its own memory; CUDA reserves far more address space than it uses.
  rlimit memory = {};
  if (::getrlimit(RLIMIT_AS, &memory) == 0) {
    memory.rlim_cur = memory.rlim_max;
    ::setrlimit(RLIMIT_AS, &memory);
  }
}

[[noreturn]] void become_child(const ChildRequest& request, ChildSide& side, int report_fd) {
  int executable = request.executable;
  ChildRights rights;
  rights.uid = request.rights->uid;
  rights.gid = request.rights->gid;
  rights.groups = request.rights->groups;
  rights.permitted = request.rights->permitted;
  rights.bounding = request.rights->bounding;
  const bool enters = request.view == View::target;
  int mounts = enters ? request.rights->mount_namespace.get() : -1;
  int network = enters ? request.rights->network_namespace.get() : -1;
  int ipc = enters ? request.rights->ipc_namespace.get() : -1;
  int root = enters ? request.rights->root.get() : -1;
  int directory = enters ? request.rights->directory.get() : -1;
  const StartReport early(report_fd);
  // Without our terminal: foreign code could write to it raw, or type commands for its user.
  if (::setsid() < 0) early.give_up(StartStep::session, errno);
  if (!die_with_parent(side.parent)) early.give_up(StartStep::parent, ESRCH);
  const std::array kept = {&report_fd, &executable, &mounts, &network, &ipc, &root, &directory};
  if (!place_descriptors(side.placed, kept)) early.give_up(StartStep::descriptors, errno);
  const StartReport report(report_fd);
  rights.mount_namespace = UniqueFd(mounts);
  rights.network_namespace = UniqueFd(network);
  rights.ipc_namespace = UniqueFd(ipc);
  rights.root = UniqueFd(root);
  rights.directory = UniqueFd(directory);
  take_view(rights, report);
  // A candidate is loaded as /proc/self/fd/N: a /proc of another PID namespace does not know us.
  if (enters && ::access("/proc/self/fd", F_OK) != 0) {
    report.give_up(StartStep::own_proc, errno);
  }
  reset_process();
  take_rights(rights, report);
  // The kernel forgets it when ids or capabilities change.
  if (!die_with_parent(side.parent)) report.give_up(StartStep::parent, ESRCH);
  ::fexecve(executable, const_cast<char* const*>(side.arguments.data()),
            const_cast<char* const*>(side.environment.data()));
  report.give_up(StartStep::program, errno);
}

/// Reads notes until exec closes the pipe. A program on a file system that never answers is
/// given up at `end`.
void read_notes(int fd, SteadyTime end, StartedChild& child) {
  while (true) {
    pollfd watched = {fd, POLLIN, 0};
    const int ready = ::poll(&watched, 1, milliseconds_until(end));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      child.failure = StartNote{StartStep::program, true, ETIMEDOUT};
      return;
    }
    StartNote note;
    std::array<char, sizeof note> bytes;
    const ssize_t count = ::read(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count != static_cast<ssize_t>(bytes.size())) return;
    std::memcpy(&note, bytes.data(), sizeof note);
    if (note.fatal) {
      child.failure = note;
    } else {
      child.notes.push_back(note);
    }
  }
}

/// For as long as it lives, children that are forked are numbered in another PID namespace.
class PidNamespaceForChildren {
 public:
  explicit PidNamespaceForChildren(const UniqueFd& other) {
    if (!other.valid()) return;
    own_ = UniqueFd(::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
    if (!own_.valid() || ::setns(other.get(), CLONE_NEWPID) != 0) {
      error_ = errno;
      own_.reset();
    }
  }
  PidNamespaceForChildren(const PidNamespaceForChildren&) = delete;
  PidNamespaceForChildren& operator=(const PidNamespaceForChildren&) = delete;
  ~PidNamespaceForChildren() {
    if (own_.valid()) ::setns(own_.get(), CLONE_NEWPID);
  }
  [[nodiscard]] bool entered() const { return own_.valid(); }
  [[nodiscard]] int error() const { return error_; }

 private:
  UniqueFd own_;
  int error_ = 0;
};

void make_nonblocking(const UniqueFd& fd) { ::fcntl(fd.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

Result<UniqueFd> make_order_file(std::string_view text) {
  UniqueFd fd(::memfd_create("order", MFD_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(system_error(errno, "order", Need::file_access));
  if (const auto written = write_all(fd.get(), text); !written) {
    return tl::unexpected(written.error());
  }
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

Result<StartedChild> start_child(const ChildRequest& request) {
  auto results = make_pipe();
  auto output = make_pipe();
  auto notes = make_pipe();
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!results || !output || !notes || !nothing.valid()) {
    return tl::unexpected(system_error(errno, "a child's descriptors", Need::file_access));
  }
  ChildSide side;
  side.parent = ::getpid();
  side.arguments = {"cudart-doctor", request.argument.data(), nullptr};
  side.environment = pointers(*request.environment);
  side.placed = {{nothing.get(), STDIN_FILENO},
                 {output->second.get(), STDOUT_FILENO},
                 {output->second.get(), STDERR_FILENO},
                 {results->second.get(), kProbeResultFd}};
  if (request.peer >= 0) side.placed.push_back({request.peer, kProbePeerFd});
  if (request.order >= 0) side.placed.push_back({request.order, kProbeOrderFd});
  for (std::size_t i = 0; i < request.files.size(); ++i) {
    side.placed.push_back({request.files[i], kProbeFirstFileFd + static_cast<int>(i)});
  }

  StartedChild child;
  static const UniqueFd kNone;
  const PidNamespaceForChildren numbering(
      request.view == View::target ? request.rights->pid_namespace : kNone);
  if (numbering.error() != 0) {
    child.failure = StartNote{StartStep::pid_namespace, true, numbering.error()};
    return child;
  }
  // A child in another PID namespace has no parent there.
  if (numbering.entered()) side.parent = 0;
  child.pid = ::fork();
  if (child.pid < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
  if (child.pid == 0) become_child(request, side, notes->second.get());
  notes->second.reset();
  read_notes(notes->first.get(), request.end, child);
  if (child.failure) {
    // Mostly it has ended already; one that hangs in exec must not cost the deadline's two seconds.
    constexpr std::chrono::milliseconds kPatience{300};
    ::kill(child.pid, SIGKILL);
    wait_until(child.pid, std::chrono::steady_clock::now() + kPatience);
    return child;
  }
  child.results = std::move(results->first);
  child.output = std::move(output->first);
  make_nonblocking(child.results);
  make_nonblocking(child.output);
  child.handle = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  return child;
}

}  // namespace cudart_doctor
