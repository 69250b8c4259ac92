#include "cudart_doctor/sys/self_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/gained_rights.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "self_protocol.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<const char*, 4> kRuntimeNames = {"libcudart.so.13", "libcudart.so.12",
                                                      "libcudart.so.11.0", "libcudart.so"};
constexpr std::size_t kMaxReply = 1u << 20;

/// In the child between fork and exec: only calls that are safe there.
[[noreturn]] void become_target(pid_t parent, const std::string& executable, int commands,
                                int replies) {
  constexpr int kNotStarted = 127;
  if (!die_with_parent(parent)) ::_exit(kNotStarted);
  // Out of the way first: one of them may have the number that the other is to get.
  constexpr int kAbove = 10;
  const int from = ::fcntl(commands, F_DUPFD_CLOEXEC, kAbove);
  const int to = ::fcntl(replies, F_DUPFD_CLOEXEC, kAbove);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // Constructors of libraries print: the parent's stdout is the report and nothing else.
  if (from < 0 || to < 0 || nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 ||
      ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0 || ::dup2(from, kSelfCommandFd) < 0 ||
      ::dup2(to, kSelfReplyFd) < 0) {
    ::_exit(kNotStarted);
  }
  // The worker limits its own memory; libraries reserve far more address space than they use.
  rlimit memory = {};
  if (::getrlimit(RLIMIT_AS, &memory) == 0) {
    memory.rlim_cur = memory.rlim_max;
    ::setrlimit(RLIMIT_AS, &memory);
  }
  // It opens whatever the caller names. Given up here, so that the loader of the child takes
  // LD_LIBRARY_PATH, as it does not where a program gains rights.
  if (!drop_gained_capabilities()) ::_exit(kNotStarted);
  const char* const arguments[] = {"cudart-doctor", kSelfTargetArgument.data(), nullptr};
  ::execv(executable.c_str(), const_cast<char* const*>(arguments));
  ::_exit(kNotStarted);
}

bool send_name(int fd, const std::string& name) {
  // With the final NUL. A pipe whose reader is gone must not end the doctor.
  std::string_view rest(name.c_str(), name.size() + 1);
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  bool sent = true;
  while (sent && !rest.empty()) {
    const ssize_t count = ::write(fd, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      sent = false;
    }
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  return sent;
}

enum class ReplyEnd : std::uint8_t { complete, closed, late };

struct Reply {
  ReplyEnd end = ReplyEnd::closed;
  std::string text;
};

Reply read_reply(int fd, SteadyTime end) {
  Reply reply;
  while (reply.text.size() < kMaxReply) {
    pollfd watched = {fd, POLLIN, 0};
    const int left = milliseconds_until(end);
    if (left == 0) {
      reply.end = ReplyEnd::late;
      return reply;
    }
    if (::poll(&watched, 1, left) <= 0) continue;
    std::array<char, 4096> buffer;
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return reply;
    reply.text.append(buffer.data(), static_cast<std::size_t>(count));
    if (reply.text.back() != '\0') continue;
    reply.text.pop_back();
    reply.end = ReplyEnd::complete;
    return reply;
  }
  return reply;
}

/// The names to ask for: those that LD_LIBRARY_PATH would answer first, since the loader looks
/// there before its cache; then the rest, the newest major first.
std::vector<std::string> names_in_search_order() {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  for (const std::string_view directory : split(path == nullptr ? "" : path, ':')) {
    if (directory.empty()) continue;
    for (const char* name : kRuntimeNames) {
      const std::string file = std::string(directory) + "/" + name;
      if (::access(file.c_str(), F_OK) == 0) add(name);
    }
  }
  for (const char* name : kRuntimeNames) add(name);
  return names;
}

}  // namespace

SelfChild::SelfChild(SelfChild&& other) noexcept { *this = std::move(other); }

SelfChild& SelfChild::operator=(SelfChild&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(commands_, other.commands_);
  std::swap(replies_, other.replies_);
  std::swap(deadline_, other.deadline_);
  std::swap(opening_, other.opening_);
  std::swap(loads_, other.loads_);
  std::swap(runtime_tries_, other.runtime_tries_);
  return *this;
}

SelfChild::~SelfChild() {
  if (pid_ > 0) kill_and_wait(pid_);
}

std::string SelfChild::runtime() const {
  if (runtime_tries_.empty() || !runtime_tries_.back().loaded) return {};
  return runtime_tries_.back().name;
}

Error SelfChild::ended_while(const std::string& name) {
  const pid_t child = std::exchange(pid_, -1);
  const auto status = wait_until(child, std::chrono::steady_clock::now() + std::chrono::seconds(2));
  if (!status) kill_and_wait(child);
  return {ErrorKind::io,
          "opening " + escape_foreign(name) + " ended the child with " +
              (status ? describe_status(*status) : std::string("a closed pipe")),
          0};
}

Result<SelfLoad> SelfChild::open(const std::string& name) {
  if (pid_ <= 0) return fail(ErrorKind::gone, "the child has ended already");
  if (name.empty() || name.find('\0') != std::string::npos) {
    return SelfLoad{name, false, "no file name"};
  }
  if (!send_name(commands_.get(), name)) return tl::unexpected(ended_while(name));
  Reply reply = read_reply(replies_.get(), std::chrono::steady_clock::now() + deadline_);
  if (reply.end == ReplyEnd::late) {
    const pid_t child = std::exchange(pid_, -1);
    const bool reaped = kill_and_wait(child).has_value();
    return fail(ErrorKind::timeout,
                "opening " + escape_foreign(name) + " did not end within " +
                    std::to_string(deadline_.count()) + " ms" +
                    (reaped ? "" : "; the child is in uninterruptible sleep and was left behind"));
  }
  if (reply.end == ReplyEnd::closed || reply.text.empty()) return tl::unexpected(ended_while(name));
  return SelfLoad{name, reply.text.front() == kSelfLoaded, reply.text.substr(1)};
}

Result<void> SelfChild::open_runtime() {
  for (const std::string& name : names_in_search_order()) {
    if (opening_) opening_(name);
    auto load = open(name);
    if (!load) return tl::unexpected(load.error());
    runtime_tries_.push_back(std::move(*load));
    if (runtime_tries_.back().loaded) break;
  }
  return {};
}

Result<SelfChild> start_self_child(const SelfChildOptions& options) {
  auto commands = make_pipe();
  if (!commands) return tl::unexpected(commands.error());
  auto replies = make_pipe();
  if (!replies) return tl::unexpected(replies.error());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
  if (pid == 0) {
    become_target(parent, options.executable, commands->first.get(), replies->second.get());
  }
  SelfChild child(pid, std::move(commands->second), std::move(replies->first));
  child.deadline_ = options.deadline;
  child.opening_ = options.opening;
  commands->first.reset();
  replies->second.reset();
  for (const auto& name : options.load) {
    if (options.opening) options.opening(name);
    auto load = child.open(name);
    if (!load) return tl::unexpected(load.error());
    child.loads_.push_back(std::move(*load));
  }
  return child;
}

}  // namespace cudart_doctor
