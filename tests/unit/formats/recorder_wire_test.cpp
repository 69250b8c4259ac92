#include "cudart_doctor/formats/recorder_wire.hpp"

#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace std::string_literals;

namespace {

/// Fields with a NUL behind each; written with '|' for it.
std::string record(std::string text) {
  for (char& c : text) {
    if (c == '|') c = '\0';
  }
  return text;
}

const std::string kLoad =
    "kind=load|pid=7|tid=8|t=99|order=3|ns=2|base=7f00a000|path=/x/libcudart.so.12|cause=opened|";

ErrorKind error_of(const std::string& text) {
  const auto parsed = parse_record(record(text));
  REQUIRE_FALSE(parsed);
  return parsed.error().kind;
}

}  // namespace

TEST_CASE("a start tells the process, its parent and the time") {
  const auto parsed = parse_record(record("kind=start|pid=7|ppid=6|tid=7|t=123|"));
  REQUIRE(parsed);
  CHECK(parsed->kind == WireKind::start);
  CHECK(parsed->pid == 7);
  CHECK(parsed->parent_pid == 6);
  CHECK(parsed->monotonic == 123);
}

TEST_CASE("a load tells what came, where and who asked for it") {
  const auto parsed = parse_record(
      record(kLoad + "dev=254:1|ino=12|name=libcudart.so.12|by=/x/a b.so|callerobj=/x/c|"
                     "calleroff=1f|pyfile=/p.py|pyline=4|pyfunc=f|pymod=m|pyfile=/q.py|pynote=n|"));
  REQUIRE(parsed);
  const LoadEvent& event = parsed->event;
  CHECK(event.kind == LoadKind::load);
  CHECK(event.tid == 8);
  CHECK(event.order == 3);
  CHECK(event.loader_namespace == 2);
  CHECK(event.base == 0x7f00a000);
  CHECK(event.path == "/x/libcudart.so.12");
  CHECK(event.cause == LoadCause::opened);
  CHECK(event.key == FileKey{254, 1, 12});
  CHECK(event.requested == "libcudart.so.12");
  CHECK(event.requester == "/x/a b.so");
  REQUIRE(event.caller);
  CHECK(event.caller->object == "/x/c");
  CHECK(event.caller->offset == 0x1f);
  REQUIRE(event.python.size() == 2);
  CHECK(event.python[0].file == "/p.py");
  CHECK(event.python[0].line == 4);
  CHECK(event.python[0].function == "f");
  CHECK(event.python[0].module == "m");
  CHECK(event.python[1].file == "/q.py");
  CHECK(event.python[1].module.empty());
  CHECK(event.python_note == "n");
}

TEST_CASE("what a load does not tell is not known") {
  const auto parsed = parse_record(record(kLoad));
  REQUIRE(parsed);
  CHECK_FALSE(parsed->event.key);
  CHECK_FALSE(parsed->event.caller);
  CHECK(parsed->event.python.empty());
  CHECK(parsed->event.requester.empty());
}

TEST_CASE("values are bytes, with '=' in them too") {
  const auto parsed = parse_record(record(kLoad + "name=a=b\xff\n|"));
  REQUIRE(parsed);
  CHECK(parsed->event.requested == "a=b\xff\n");
}

TEST_CASE("unload, lost and sync") {
  const auto unload = parse_record(record("kind=unload|pid=7|tid=8|t=1|ns=0|base=ff|path=/x|"));
  REQUIRE(unload);
  CHECK(unload->event.kind == LoadKind::unload);
  CHECK(unload->event.base == 255);
  const auto lost = parse_record(record("kind=lost|pid=7|count=18446744073709551615|"));
  REQUIRE(lost);
  CHECK(lost->lost == UINT64_MAX);
  const auto sync = parse_record(record("kind=sync|pid=7|"));
  REQUIRE(sync);
  CHECK(sync->kind == WireKind::sync);
}

TEST_CASE("keys of later versions are skipped") {
  CHECK(parse_record(record("kind=sync|pid=7|colour=red|")));
}

TEST_CASE("what is no record is malformed") {
  const std::string long_number(40, '9');
  for (const std::string& text : {""s,
                                  "|"s,
                                  "pid=7|kind=sync|"s,
                                  "kind=|pid=7|"s,
                                  "kind=stop|pid=7|"s,
                                  "kind=sync|pid=7"s,
                                  "kind=sync|"s,
                                  "kind=sync|pid=|"s,
                                  "kind=sync|pid=-1|"s,
                                  "kind=sync|pid=7 |"s,
                                  "kind=sync|pid=7|pid=7|"s,
                                  "kind=sync|pid=7|nonsense|"s,
                                  "kind=sync|pid=7||"s,
                                  "kind=sync|pid=" + long_number + "|",
                                  "kind=start|pid=7|tid=7|t=1|"s,
                                  "kind=lost|pid=7|"s,
                                  "kind=unload|pid=7|tid=8|t=1|ns=0|base=0x1|path=/x|"s,
                                  kLoad + "cause=needed|",
                                  kLoad + "dev=1:2|",
                                  kLoad + "ino=1|",
                                  kLoad + "dev=1|ino=1|",
                                  kLoad + "dev=1:2:3|ino=1|",
                                  kLoad + "callerobj=/x|",
                                  kLoad + "calleroff=1|",
                                  kLoad + "pyline=1|",
                                  kLoad + "pyfile=a|pyline=x|",
                                  kLoad + "pyfile=a|pymod=b|pymod=c|"}) {
    CAPTURE(text);
    CHECK(error_of(text) == ErrorKind::malformed);
  }
}

TEST_CASE("an unknown cause is no cause") {
  CHECK(error_of("kind=load|pid=7|tid=8|t=99|order=3|ns=2|base=1|path=/x|cause=magic|") ==
        ErrorKind::malformed);
}

TEST_CASE("a record has at most 32 KiB and 128 frames") {
  std::string text = kLoad;
  for (std::size_t i = 0; i < kMaxPythonFrames; ++i) text += "pyfile=f|";
  const auto most = parse_record(record(text));
  REQUIRE(most);
  CHECK(most->event.python.size() == kMaxPythonFrames);
  CHECK(error_of(text + "pyfile=f|") == ErrorKind::limit);
  CHECK(error_of(kLoad + "name=" + std::string(kMaxRecord, 'x') + "|") == ErrorKind::limit);
  const std::string start = kLoad + "name=";
  CHECK(parse_record(record(start + std::string(kMaxRecord - start.size() - 1, 'x') + "|")));
}

TEST_CASE("foreign bytes in an error are escaped") {
  const auto parsed = parse_record(record("kind=sync|pid=7|\x1b=1|\x1b=1|"));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().message == "record of the recorder: '\\x1b' twice");
}
