// In which programs the recorder can be. The oracle is glibc's loader itself: whether it asks for
// the library that LD_AUDIT names.
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "../live_support.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;

namespace {

/// Whether a run of `file` complains about an audit library that is not there.
bool loader_obeys(const std::string& file) {
  const std::string line =
      "LD_AUDIT=/no/such/audit.so '" + file + "' state 2>&1 </dev/null | grep -q /no/such/audit.so";
  return WEXITSTATUS(std::system(line.c_str())) == 0;
}

void expect(const std::string& file, Recordable answer) {
  INFO(file);
  CHECK(recordable(file) == answer);
  CHECK(loader_obeys(file) == (answer == Recordable::yes));
}

std::string script(const Scratch& scratch, const char* name, const std::string& text) {
  live::write_text(scratch.path(name), text);
  ::chmod(scratch.path(name).c_str(), 0755);
  return scratch.path(name);
}

}  // namespace

TEST_CASE("a program of glibc's loader can be recorded, a static one cannot") {
  expect(RUN_VICTIM, Recordable::yes);
  expect(RUN_STATIC_VICTIM, Recordable::no_static);
  expect("/bin/sh", Recordable::yes);
}

TEST_CASE("of a script its interpreter counts") {
  const Scratch scratch;
  expect(script(scratch, "dynamic", "#!/bin/sh\nexit 0\n"), Recordable::yes);
  expect(script(scratch, "argument", "#! /bin/sh  -e \nexit 0\n"), Recordable::yes);
  expect(script(scratch, "none", "exit 0\n"), Recordable::yes);
  expect(script(scratch, "static", "#!" RUN_STATIC_VICTIM "\n"), Recordable::no_static);
  expect(script(scratch, "script", "#!" + scratch.path("static") + "\n"), Recordable::no_static);
}

TEST_CASE("behind env the program that it names counts") {
  const Scratch scratch;
  ::setenv("PATH", (std::string(::getenv("PATH")) + ":" + scratch.path("")).c_str(), 1);
  live::copy_file(RUN_STATIC_VICTIM, scratch.path("static-tool"));
  CHECK(recordable(script(scratch, "a", "#!/usr/bin/env static-tool\n")) == Recordable::no_static);
  CHECK(recordable(script(scratch, "b", "#!/usr/bin/env -S A=b sh -e\n")) == Recordable::yes);
  CHECK(recordable(script(scratch, "c", "#!/usr/bin/env no-such-tool\n")) == Recordable::unknown);
}

TEST_CASE("what is no program that can be read is unknown") {
  const Scratch scratch;
  CHECK(recordable(scratch.path("nothing")) == Recordable::unknown);
  CHECK(recordable(scratch.path("")) == Recordable::unknown);
  ::mkfifo(scratch.path("fifo").c_str(), 0644);
  CHECK(recordable(scratch.path("fifo")) == Recordable::unknown);
  CHECK(recordable(script(scratch, "cut",
                          "\x7f"
                          "ELF\x02\x01\x01")) == Recordable::unknown);
  CHECK(recordable(script(scratch, "self", "#!" + scratch.path("self"))) == Recordable::unknown);
}

TEST_CASE("another class, machine or loader is told from a static program") {
  const Scratch scratch;
  const std::string own = live::read_text(RUN_VICTIM);
  const auto changed = [&](const char* name, std::size_t at, const std::string& bytes) {
    std::string text = own;
    text.replace(at, bytes.size(), bytes);
    return script(scratch, name, text);
  };
  CHECK(recordable(changed("class", 4, "\x01")) == Recordable::no_other_class);
  CHECK(recordable(changed("machine", 18, "\xf3")) == Recordable::no_other_class);
  const std::size_t loader = own.find("ld-linux");
  REQUIRE(loader != std::string::npos);
  CHECK(recordable(changed("musl", loader, "ld-musl-")) == Recordable::no_libc);
}

TEST_CASE("a program that gets other rights is not recorded") {
  if (::geteuid() != 0) return;
  const Scratch scratch;
  ::chmod(scratch.path("").c_str(), 0755);
  live::copy_file(RUN_VICTIM, scratch.path("setuid"));
  live::copy_file(RUN_VICTIM, scratch.path("setgid"));
  live::copy_file(RUN_VICTIM, scratch.path("capable"));
  live::copy_file(RUN_VICTIM, scratch.path("own"));
  REQUIRE(::chown(scratch.path("setuid").c_str(), 1234, 0) == 0);
  REQUIRE(::chown(scratch.path("setgid").c_str(), 0, 1234) == 0);
  ::chmod(scratch.path("setuid").c_str(), 04755);
  ::chmod(scratch.path("setgid").c_str(), 02755);
  ::chmod(scratch.path("own").c_str(), 04755);
  expect(scratch.path("setuid"), Recordable::no_set_id);
  expect(scratch.path("setgid"), Recordable::no_set_id);
  expect(scratch.path("own"), Recordable::yes);
  // cap_net_raw=ep; counts for those who are not root.
  const std::string capability(
      "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00",
      20);
  REQUIRE(::setxattr(scratch.path("capable").c_str(), "security.capability", capability.data(),
                     capability.size(), 0) == 0);
  expect(scratch.path("capable"), Recordable::yes);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresgid(1234, 1234, 1234) != 0 || ::setresuid(1234, 1234, 1234) != 0) ::_exit(9);
    const bool fine = recordable(scratch.path("capable")) == Recordable::no_set_id &&
                      !loader_obeys(scratch.path("capable")) &&
                      recordable(scratch.path("own")) == Recordable::no_set_id &&
                      recordable(scratch.path("setuid")) == Recordable::yes;
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
}
