// Helpers of the live tests: a victim process, a scratch directory, rules, and look-ups.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace live {

/// A directory of its own that everybody may enter; removed at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] std::string path(std::string_view name) const;
  /// A copy of toys/NAME.so under another name; its path.
  [[nodiscard]] std::string copy_toy(std::string_view toy, std::string_view name) const;

 private:
  std::string directory_;
};

/// Path of a toy library as built.
std::string toy(std::string_view name);
void copy_file(const std::string& from, const std::string& to);
void write_text(const std::string& path, std::string_view text);
std::string read_text(const std::string& path);

/// The victim program; ends with the object. `before_exec` runs in the child.
class Victim {
 public:
  explicit Victim(const std::function<void()>& before_exec = {});
  ~Victim();
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  /// Sends a command; the victim's answer ("ready" when it was done).
  std::string tell(const std::string& verb, const std::string& argument);
  /// SIGKILL and wait.
  void end();
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  std::string read_line();
  pid_t pid_ = -1;
  int commands_ = -1;
  int answers_ = -1;
};

/// Walks and searches what is named like a CUDA library.
cudart_doctor::CaptureRules rules();
cudart_doctor::Result<cudart_doctor::Snapshot> capture(pid_t pid);

/// The object with this path, or with this soname; nullptr when there is none.
const cudart_doctor::LoadedObject* object_at(const cudart_doctor::Snapshot& snapshot,
                                             std::string_view path);
const cudart_doctor::LoadedObject* object_with_soname(const cudart_doctor::Snapshot& snapshot,
                                                      std::string_view soname);

/// Ends the test program as skipped (exit code 77), with the reason.
[[noreturn]] void skip_program(std::string_view reason);

}  // namespace live
