// The "self" target: a fresh child of this program, in the caller's environment unchanged, that
// opens libraries on request and otherwise waits to be inspected. The parent maps none of them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// The hidden argument by which main() knows the child.
inline constexpr std::string_view kSelfTargetArgument = "__self-target";

struct SelfChildOptions {
  std::vector<std::string> load;              ///< --load LIB, in order.
  std::chrono::milliseconds deadline{10000};  ///< For each dlopen.
  std::string executable = "/proc/self/exe";
  std::function<void(const std::string& name)> opening;  ///< Called before each dlopen.
};

/// How one dlopen in the child ended.
struct SelfLoad {
  std::string name;
  bool loaded = false;
  std::string error;  ///< dlerror's text.
};

class SelfChild {
 public:
  SelfChild(SelfChild&& other) noexcept;
  SelfChild& operator=(SelfChild&& other) noexcept;
  SelfChild(const SelfChild&) = delete;
  SelfChild& operator=(const SelfChild&) = delete;
  /// Ends the child.
  ~SelfChild();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// What `--load` named, in order.
  [[nodiscard]] const std::vector<SelfLoad>& loads() const { return loads_; }
  /// The names under which the loader was asked for a runtime, up to the first that opened.
  [[nodiscard]] const std::vector<SelfLoad>& runtime_tries() const { return runtime_tries_; }
  /// The runtime name that opened; "" when none did.
  [[nodiscard]] std::string runtime() const;
  /// dlopen(name, RTLD_NOW | RTLD_LOCAL) in the child. Errors: timeout, io (it crashed); both name
  /// the library, and the child is gone afterwards.
  Result<SelfLoad> open(const std::string& name);
  /// Opens the first of libcudart.so.13, .12, .11.0 and .so that the loader finds, those in
  /// LD_LIBRARY_PATH before the others. Errors as open(); that it finds none is none.
  Result<void> open_runtime();

 private:
  friend Result<SelfChild> start_self_child(const SelfChildOptions& options);
  SelfChild(pid_t pid, UniqueFd commands, UniqueFd replies)
      : pid_(pid), commands_(std::move(commands)), replies_(std::move(replies)) {}
  Error ended_while(const std::string& name);

  pid_t pid_ = -1;
  UniqueFd commands_;
  UniqueFd replies_;
  std::chrono::milliseconds deadline_{0};
  std::function<void(const std::string& name)> opening_;
  std::vector<SelfLoad> loads_;
  std::vector<SelfLoad> runtime_tries_;
};

/// Starts the child and opens `load`: until the first answer of an open() the new program may not
/// run yet. Errors as open(); io where the child could not be started.
Result<SelfChild> start_self_child(const SelfChildOptions& options);

/// The child's side: main() calls it before anything else when argv[1] is kSelfTargetArgument, and
/// returns its value. Serves requests until the parent closes the pipe.
int self_target_main();

}  // namespace cudart_doctor
