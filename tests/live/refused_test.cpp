// Targets that cannot be captured, and why: each has an error of its own.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::Scratch;
using live::Victim;

namespace {

/// A folder that looks like /proc with one process.
void make_proc(const Scratch& scratch, std::string_view stat) {
  std::filesystem::create_directories(scratch.path("77"));
  live::write_text(scratch.path("77/stat"), stat);
  live::write_text(scratch.path("77/status"), "Name:\tfake\nUid:\t1000\t1000\t1000\t1000\n");
  live::write_text(
      scratch.path("77/maps"),
      "10000000-10001000 r-xp 00000000 08:01 42                         /no/such/file\n");
  live::write_text(scratch.path("77/statm"), "1 1 1 1 0 1 0\n");
  live::write_text(scratch.path("77/environ"), std::string_view("A=1\0", 4));
  live::write_text(scratch.path("77/cmdline"), std::string_view("fake\0", 5));
  std::filesystem::create_directory_symlink("/", scratch.path("77/root"));
}

std::string stat_text(std::string_view state, std::string_view flags, std::string_view start) {
  // Fields: pid (comm) state ppid pgrp session tty tpgid flags minflt ... 22 is the start time.
  return "77 (fake) " + std::string(state) + " 1 77 77 0 -1 " + std::string(flags) +
         " 0 0 0 0 0 0 0 0 20 0 1 0 " + std::string(start) + " 4096 1\n";
}

}  // namespace

TEST_CASE("a PID that nobody has is not found") {
  auto snapshot = capture(0x3ffffff);
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("no process with PID 67108863"));
}

TEST_CASE("a zombie is named as one") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  auto snapshot = capture(child);
  ::waitpid(child, nullptr, 0);
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("zombie"));
}

TEST_CASE("a kernel thread is named as one") {
  Scratch scratch;
  make_proc(scratch, stat_text("S", "2129984", "5"));  // 0x208040 holds PF_KTHREAD.
  CaptureOptions options;
  options.pid = 77;
  options.proc_root = scratch.path("");
  auto snapshot = capture_process(options, live::rules());
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("kernel thread"));
}

TEST_CASE("a target that ends while it is looked at is gone") {
  Victim victim;
  CaptureOptions options;
  options.pid = victim.pid();
  options.progress = [&](std::string_view stage, std::string_view) {
    if (stage == "read mapped object") victim.end();
  };
  auto snapshot = capture_process(options, live::rules());
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::gone);
}

TEST_CASE("a PID that was used again is not the process that was asked for") {
  Scratch scratch;
  make_proc(scratch, stat_text("S", "4194304", "5000"));
  CaptureOptions options;
  options.pid = 77;
  options.proc_root = scratch.path("");
  SECTION("the start time stays") {
    auto snapshot = capture_process(options, live::rules());
    REQUIRE(snapshot);
    CHECK(snapshot->process.start_ticks == 5000);
    CHECK(snapshot->link_map.is_unknown());
  }
  SECTION("the start time changes") {
    options.progress = [&](std::string_view stage, std::string_view) {
      if (stage == "read link map") {
        live::write_text(scratch.path("77/stat"), stat_text("S", "4194304", "6000"));
      }
    };
    auto snapshot = capture_process(options, live::rules());
    REQUIRE_FALSE(snapshot);
    CHECK(snapshot.error().kind == ErrorKind::gone);
    CHECK_THAT(snapshot.error().message, ContainsSubstring("another process by now"));
  }
}

TEST_CASE("a 32-bit program is unsupported") {
  Scratch scratch;
  make_proc(scratch, stat_text("S", "4194304", "5000"));
  live::write_text(scratch.path("77/exe"), std::string_view("\177ELF\1\1\1", 7));
  CaptureOptions options;
  options.pid = 77;
  options.proc_root = scratch.path("");
  auto snapshot = capture_process(options, live::rules());
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::unsupported);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("32-bit"));
}
