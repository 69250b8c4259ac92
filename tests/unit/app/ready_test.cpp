// When a command is ready.
#include "cudart_doctor/app/ready.hpp"

#include <string>

#include "cudart_doctor/app/line_pattern.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using std::chrono::milliseconds;

namespace {

const ReadyWatch::Time kStart{std::chrono::seconds(100)};

ReadyWatch watch(std::string_view text) { return {*parse_ready(text), kStart}; }

}  // namespace

TEST_CASE("each condition is read with its value") {
  CHECK(parse_ready("mapped:libtorch_cuda")->text == "libtorch_cuda");
  CHECK(parse_ready("port:8000")->port == 8000);
  CHECK(parse_ready("output:ready: [0-9]+")->text == "ready: [0-9]+");
  CHECK(parse_ready("after:1.5")->time == milliseconds(1'500));
  CHECK(parse_ready("stable:20")->time == milliseconds(20'000));
  CHECK(parse_ready("stable:20")->given == "stable:20");
}

TEST_CASE("a condition that cannot be is refused, with its reason") {
  struct Row {
    const char* text;
    const char* reason;
  };
  for (const Row& row : {Row{"", "none of"},
                         Row{"port", "none of"},
                         Row{"prot:80", "none of"},
                         Row{"port:0", "TCP port"},
                         Row{"port:65536", "TCP port"},
                         Row{"port:", "TCP port"},
                         Row{"port:80x", "TCP port"},
                         Row{"port:-1", "TCP port"},
                         Row{"after:", "seconds"},
                         Row{"after:-1", "seconds"},
                         Row{"after:nan", "seconds"},
                         Row{"after:inf", "seconds"},
                         Row{"after:1s", "seconds"},
                         Row{"stable:1e9", "seconds"},
                         Row{"mapped:", "missing"},
                         Row{"output:", "missing"},
                         Row{"output:(", "regular expression"},
                         Row{"output:[z-a]", "regular expression"},
                         Row{"output:(a)\\1", "back-references"},
                         Row{"\x1b[2J", "\\x1b"}}) {
    INFO(row.text);
    const auto condition = parse_ready(row.text);
    REQUIRE_FALSE(condition);
    CHECK(condition.error().kind == ErrorKind::usage);
    CHECK(condition.error().message.find(row.reason) != std::string::npos);
  }
}

TEST_CASE("mapped: is met by a load whose path holds the text") {
  ReadyWatch ready = watch("mapped:libtorch_cuda");
  ready.loaded("/l/libcudart.so.12", kStart);
  CHECK_FALSE(ready.met(kStart));
  ready.loaded("/l/libtorch_cuda.so", kStart);
  CHECK(ready.met(kStart));
}

TEST_CASE("after: is met by time alone") {
  const ReadyWatch ready = watch("after:2");
  CHECK(ready.due() == kStart + milliseconds(2'000));
  CHECK_FALSE(ready.met(kStart + milliseconds(1'999)));
  CHECK(ready.met(kStart + milliseconds(2'000)));
}

TEST_CASE("stable: counts from the last load, and not before the first") {
  ReadyWatch ready = watch("stable:2");
  CHECK_FALSE(ready.due().has_value());
  CHECK_FALSE(ready.met(kStart + milliseconds(60'000)));
  ready.loaded("/l/libcudart.so.12", kStart + milliseconds(1'000));
  ready.loaded("", kStart + milliseconds(2'500));
  CHECK_FALSE(ready.met(kStart + milliseconds(3'000)));
  CHECK(ready.met(kStart + milliseconds(4'500)));
}

TEST_CASE("port: and output: are met by what was seen") {
  for (const char* const text : {"port:1", "output:x"}) {
    ReadyWatch ready = watch(text);
    ready.loaded("/l/libcudart.so.12", kStart);
    CHECK_FALSE(ready.met(kStart + milliseconds(60'000)));
    ready.seen();
    CHECK(ready.met(kStart));
  }
}

TEST_CASE("without a condition nothing makes a command ready") {
  ReadyWatch ready({}, kStart);
  ready.loaded("/l/libcudart.so.12", kStart);
  CHECK_FALSE(ready.met(kStart + milliseconds(60'000)));
}

TEST_CASE("a pattern is found anywhere in a line, which is bytes") {
  const auto pattern = LinePattern::compile("^INFO.*(ready|startup complete)$");
  REQUIRE(pattern);
  CHECK(pattern->matches("INFO: Application startup complete"));
  CHECK(pattern->matches("INFO \xff\x01 ready"));
  CHECK(LinePattern::compile("ready")->matches(std::string_view("\0 ready", 7)));
  CHECK_FALSE(pattern->matches("DEBUG INFO ready"));
  CHECK_FALSE(pattern->matches(""));
}

TEST_CASE("a line that a backtracking matcher never finishes is no trouble") {
  const auto pattern = LinePattern::compile("^(a+)+$");
  REQUIRE(pattern);
  CHECK_FALSE(pattern->matches(std::string(65'536, 'a') + "b"));
}
