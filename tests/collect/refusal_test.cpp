// What a refusal of the kernel's is told as.
#include <cerrno>

#include "cudart_doctor/collect/process_facts.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

ProcessFacts somebodys() {
  ProcessFacts process;
  process.pid = 4121;
  process.uid = 1000;
  process.comm = "py\x1b[31m";
  return process;
}

std::string told_to(std::uint32_t own_uid) {
  const Error error = system_error(EACCES, "/proc/4121/root", Need::same_user);
  const Error told = refused(error, somebodys(), own_uid);
  CHECK(told.kind == ErrorKind::permission);
  CHECK_THAT(told.message, ContainsSubstring("needs the same user, or CAP_SYS_PTRACE"));
  CHECK_THAT(told.message, ContainsSubstring("PID 4121 (py\\x1b[31m)"));
  return told.message;
}

}  // namespace

TEST_CASE("another user is told whose the process is, and what to type") {
  const std::string text = told_to(65534);
  CHECK_THAT(text, ContainsSubstring("belongs to uid 1000, you are uid 65534"));
  CHECK_THAT(text, ContainsSubstring("sudo cudart-doctor --pid 4121"));
}

TEST_CASE("root without the capability is told how to get it, not to become root") {
  const std::string text = told_to(0);
  CHECK_THAT(text, ContainsSubstring("--cap-add SYS_PTRACE"));
  CHECK(text.find("sudo") == std::string::npos);
}

TEST_CASE("the owner of a process that is closed to him is told that it is his") {
  CHECK_THAT(told_to(1000), ContainsSubstring("although it is yours"));
}
