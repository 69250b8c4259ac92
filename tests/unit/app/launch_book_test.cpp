// The bookkeeping of a launch.
#include "cudart_doctor/app/launch_book.hpp"

#include <csignal>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr std::int64_t kStart = 1'000;

WireRecord load(const std::string& path, std::int64_t when, LoadCause cause = LoadCause::opened) {
  WireRecord record;
  record.kind = WireKind::load;
  record.monotonic = when;
  record.event.path = path;
  record.event.cause = cause;
  return record;
}

SeenProcess seen(std::int64_t pid, std::uint64_t ticks, const std::string& executable = "/bin/a") {
  return {.pid = pid,
          .parent_pid = 1,
          .start_ticks = ticks,
          .executable = executable,
          .command_line = {executable}};
}

}  // namespace

TEST_CASE("a process that is met twice is one") {
  LaunchBook book({}, kStart);
  const auto first = book.meet(seen(7, 50), 2'000);
  CHECK(book.meet(seen(7, 50), 3'000) == first);
  CHECK(book.size() == 1);
  CHECK(book.process(*first).began == 1'000);
}

TEST_CASE("a PID that was used again is another process") {
  LaunchBook book({}, kStart);
  const auto first = book.meet(seen(7, 50), 2'000);
  const auto second = book.meet(seen(7, 51), 3'000);
  CHECK(first != second);
  CHECK(book.image_of(7) == second);
  CHECK(book.process(*first).end == ProcessEnd::unknown);
}

TEST_CASE("the first start of a process that was met is no second image") {
  LaunchBook book({}, kStart);
  const auto met = book.meet(seen(7, 50, "/bin/sh"), 2'000);
  CHECK(book.started(seen(7, 50, "/bin/true"), 2'500) == met);
  CHECK(book.process(*met).recorded);
  CHECK(book.process(*met).executable == "/bin/true");
}

TEST_CASE("another program is another image where the one before told of objects") {
  LaunchBook book({}, kStart);
  const auto first = book.started(seen(7, 50, "/bin/sh"), 2'000);
  book.add(*first, load("/l/libcudart.so.12", 2'100));
  const auto second = book.started(seen(7, 50, "/bin/python"), 3'000);
  REQUIRE(first != second);
  CHECK(book.process(*first).end == ProcessEnd::replaced_by_exec);
  CHECK(book.process(*second).end == ProcessEnd::unknown);
  CHECK(book.process(*second).executable == "/bin/python");
  CHECK(book.image_of(7) == second);
}

TEST_CASE("another program takes the place of one that told of nothing") {
  LaunchBook book({}, kStart);
  const auto image = book.started(seen(7, 50, "/bin/sh"), 2'000);
  CHECK(book.started(seen(7, 50, "/bin/bash"), 2'500) == image);
  CHECK(book.executes(seen(7, 50, "/bin/bash"), 2'600) == image);
  CHECK(book.process(*image).recorded);
  CHECK(book.executes(seen(7, 50, "/opt/static"), 3'000) == image);
  CHECK(book.size() == 1);
  CHECK(book.process(*image).executable == "/opt/static");
  CHECK_FALSE(book.process(*image).recorded);
  // And the start record that comes late is its own.
  CHECK(book.started(seen(7, 50, "/opt/static"), 3'100) == image);
  CHECK(book.process(*image).recorded);
}

TEST_CASE("times count from the start, and never before it") {
  LaunchBook book({}, kStart);
  const auto image = book.meet(seen(7, 50), 10);
  book.add(*image, load("/l/libcudart.so.12", 1'500));
  book.add(*image, load("/l/libcudart.so.11", 10));
  const Recording recording = book.recording(5'000);
  CHECK(recording.duration == 4'000);
  REQUIRE(recording.events.size() == 2);
  CHECK(recording.events[0].nanoseconds == 0);
  CHECK(recording.events[1].nanoseconds == 500);
  CHECK(recording.events[1].pid == 7);
  CHECK(recording.processes[0].began == 0);
}

TEST_CASE("events of processes side by side are in the order of time") {
  LaunchBook book({}, 0);
  const auto a = book.meet(seen(7, 50), 0);
  const auto b = book.meet(seen(8, 51), 0);
  book.add(*a, load("/first", 10));
  book.add(*a, load("/third", 30));
  book.add(*b, load("/second", 20));
  const Recording recording = book.recording(40);
  std::vector<std::string> paths;
  for (const LoadEvent& event : recording.events) paths.push_back(event.path);
  CHECK(paths == std::vector<std::string>{"/first", "/second", "/third"});
}

TEST_CASE("what is behind a limit is counted") {
  LaunchBook book({}, 0, {.events = 2, .processes = 1, .sentences = 1});
  const auto image = book.meet(seen(7, 50), 0);
  for (int i = 0; i < 5; ++i) book.add(*image, load("/l/libcudart.so", i));
  CHECK_FALSE(book.meet(seen(8, 51), 0).has_value());
  CHECK_FALSE(book.started(seen(9, 52), 0).has_value());
  book.note_limit("one");
  book.note_limit("two");
  const Recording recording = book.recording(9);
  CHECK(recording.events.size() == 2);
  CHECK(recording.events_dropped == 3);
  CHECK(recording.limits ==
        std::vector<std::string>{"one", "2 processes behind the first 1 were not looked at"});
}

TEST_CASE("a process is worth a look where a name or its recorder speaks of CUDA") {
  struct Row {
    const char* path;
    bool asks;
    bool worth;
  };
  for (const Row& row :
       {Row{"/l/libcudart.so.12", false, true}, Row{"/l/libcudart.so.12", true, true},
        Row{"/l/renamed.so", true, true}, Row{"/l/libasan.so.8", false, false}}) {
    for (const LoadCause cause : {LoadCause::opened, LoadCause::needed, LoadCause::preload}) {
      INFO(row.path);
      LaunchBook book({}, 0);
      const auto image = book.meet(seen(7, 50), 0);
      book.add(*image, load(row.path, 1, cause));
      if (row.asks) book.asks(*image);
      CHECK(book.is_worth_a_look(*image) == row.worth);
    }
  }
}

TEST_CASE("how a process ended is kept by its newest program") {
  LaunchBook book({}, 0);
  const auto first = book.started(seen(7, 50, "/bin/a"), 0);
  book.add(*first, load("/l/libcudart.so.12", 1));
  const auto second = book.started(seen(7, 50, "/bin/b"), 1);
  book.ended(7, 3 << 8);
  CHECK(book.process(*first).end == ProcessEnd::replaced_by_exec);
  CHECK(book.process(*second).end == ProcessEnd::exited);
  CHECK(book.process(*second).status == 3);
  const auto killed = book.meet(seen(8, 51), 0);
  book.ended(8, SIGKILL);
  CHECK(book.process(*killed).end == ProcessEnd::signalled);
  CHECK(book.process(*killed).status == SIGKILL);
}

TEST_CASE("records that were lost are counted by process") {
  LaunchBook book({}, 0);
  const auto image = book.meet(seen(7, 50), 0);
  WireRecord lost;
  lost.kind = WireKind::lost;
  lost.lost = 4;
  book.add(*image, lost);
  book.add(*image, lost);
  CHECK(book.process(*image).lost == 8);
  CHECK_FALSE(book.is_worth_a_look(*image));
}

TEST_CASE("a program that was left for one of the same name is another image") {
  LaunchBook book({}, 0);
  const auto first = book.started(seen(7, 50, "/bin/python"), 0);
  book.add(*first, load("/l/libcudart.so.12", 1));
  const auto second = book.replaced(seen(7, 50, "/bin/python"), 1);
  REQUIRE(first != second);
  CHECK(book.process(*first).end == ProcessEnd::replaced_by_exec);
  CHECK_FALSE(book.process(*second).recorded);
}

TEST_CASE("a process that writes a title over its arguments is no other program") {
  LaunchBook book({}, 0);
  const auto image = book.started(seen(7, 50, "/bin/python"), 0);
  book.add(*image, load("/l/libcudart.so.12", 1));
  SeenProcess titled = seen(7, 50, "/bin/python");
  titled.command_line = {"scheduler_TP0"};
  CHECK(book.executes(titled, 2) == image);
  CHECK(book.process(*image).end == ProcessEnd::unknown);
}
