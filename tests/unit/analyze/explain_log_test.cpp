// The log reader on what logs are made of: colours, CRs, NULs, odd bytes, lines without end.
#include "cudart_doctor/analyze/explain_log.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

const std::string kText = "pidfd_getfd: Operation not permitted";

LogAnswer read(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return reader.finish();
}

/// How often kText was recognised.
std::uint64_t count_in(std::string_view text) {
  const LogAnswer answer = read(text);
  if (answer.symptoms.empty()) return 0;
  REQUIRE(answer.symptoms.size() == 1);
  REQUIRE(answer.symptoms[0].signature != nullptr);
  CHECK(answer.symptoms[0].signature->id == "pidfd-refused");
  return answer.symptoms[0].count;
}

}  // namespace

TEST_CASE("lines are counted, and the first that holds a symptom is kept") {
  const LogAnswer answer = read("a\n\nfirst " + kText + "\nb\nsecond " + kText + "\nlast");
  CHECK(answer.lines == 6);
  REQUIRE(answer.symptoms.size() == 1);
  CHECK(answer.symptoms[0].count == 2);
  CHECK(answer.symptoms[0].first_line == 3);
  CHECK(answer.symptoms[0].text == "first " + kText);
}

TEST_CASE("nothing is recognised in nothing") {
  CHECK(read("").symptoms.empty());
  CHECK(read("").lines == 0);
  CHECK(read("\n").lines == 1);
}

TEST_CASE("a line may come in pieces") {
  LogReader reader;
  for (const char letter : kText) reader.feed({&letter, 1});
  CHECK(reader.finish().symptoms.size() == 1);
}

TEST_CASE("colours, CRLF, progress bars, NULs and odd bytes do not hide a symptom") {
  CHECK(count_in("\x1b[31;1mpidfd_getfd\x1b[0m: Operation \x1b[4mnot\x1b[m permitted\r\n") == 1);
  CHECK(count_in("\x1b]0;title\apidfd_getfd: \x1b]8;;url\x1b\\Operation not permitted") == 1);
  CHECK(count_in("50%\r" + kText + "\r\n") == 1);
  CHECK(count_in("\xff\xfe\x80" + kText + "\xc3") == 1);
  std::string wide;
  for (const char letter : kText) wide.append({letter, '\0'});
  CHECK(count_in("\xff\xfe" + wide) == 1);
}

TEST_CASE("a control sequence that never ends does not swallow the log") {
  CHECK(count_in("\x1b]" + std::string(500, 'x') + "\n" + kText) == 1);
  CHECK(count_in("\x1b[" + std::string(500, '1') + kText) == 1);
  CHECK(count_in("\x1b[\n" + kText) == 1);
}

TEST_CASE("line ends that are written out, as in JSON, end a line") {
  CHECK(count_in(R"({"log":"x\n)" + kText + R"(\n)" + kText + R"("})") == 2);
}

TEST_CASE("a symptom is found anywhere in a line without end, and counted once") {
  for (const std::size_t before : {std::size_t{0}, std::size_t{16350}, std::size_t{16384},
                                   std::size_t{17000}, std::size_t{100'000}}) {
    INFO(before);
    CHECK(count_in(std::string(before, 'x') + " " + kText + std::string(40'000, 'y')) == 1);
  }
}

TEST_CASE("a number is read to its end wherever a long line is cut") {
  for (std::size_t before = 16365; before < 16390; ++before) {
    INFO(before);
    const LogAnswer answer = read(std::string(before, '.') + "CUDA error 201: x");
    REQUIRE(answer.symptoms.size() == 1);
    CHECK(answer.symptoms[0].code->code == 201);
    CHECK(answer.symptoms[0].count == 1);
    CHECK(read(std::string(before, '.') + "CUDA error 2010").symptoms.empty());
  }
}

TEST_CASE("of a long line the part around the symptom is kept") {
  const LogAnswer answer = read(std::string(5000, 'x') + kText + std::string(5000, 'y'));
  REQUIRE(answer.symptoms.size() == 1);
  CHECK(answer.symptoms[0].text.size() == kShownBytes);
  CHECK(answer.symptoms[0].text.find(kText) == 100);
}

TEST_CASE("the parts of a pattern belong to one line and lie near each other") {
  CHECK(count_in("pidfd_getfd:\nOperation not permitted") == 0);
  CHECK(count_in("pidfd_getfd" + std::string(600, ' ') + "operation not permitted") == 0);
  CHECK(count_in("pidfd_getfd" + std::string(600, ' ') + kText) == 1);
}

TEST_CASE("a line belongs to its most specific symptom, and bare codes come last") {
  const LogAnswer answer = read(
      "CUDA error 400\n/x/libcudart_stub.so: undefined symbol: cudaDeviceReset\n"
      "custom_all_reduce.cuh:455 'invalid argument': CUDA error 1 cudaErrorInvalidValue\n");
  REQUIRE(answer.symptoms.size() == 3);
  CHECK(answer.symptoms[0].signature->id == "stub-lacks-symbol");
  CHECK(answer.symptoms[1].signature->id == "all-reduce-invalid-argument");
  CHECK(answer.symptoms[2].code->code == 400);
}

TEST_CASE("hostile text is read in linear time") {
  // Nearly every byte is the end of some piece of a pattern, or nearly so.
  for (const std::string piece : {"cuda error ", "undefined symbol: ", "libcuda.so", "\\", "((("}) {
    std::string text;
    while (text.size() < (std::size_t{4} << 20U)) text += piece;
    const auto begin = std::chrono::steady_clock::now();
    CHECK(read(text).bytes == text.size());
    // Under a second is usual even unoptimised; quadratic time would be hours.
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  }
}

TEST_CASE("where the log is cut does not matter") {
  const std::string wide = std::string("pidfd_getfd: \0Operation not permitted", 37);
  const std::string log = "a\n\x1b[31mpidfd\x1b[0m_getfd: Operation not permitted\x1b[0m\n\n" +
                          wide + "\r\n50%\r" + kText + R"( x\n)" + kText + "\n\x1b]0;title\n" +
                          std::string(20'000, 'x') + kText + "\nCUDA error 201\nCUDA error 2010";
  const LogAnswer whole = read(log);
  REQUIRE(whole.symptoms.size() == 2);
  CHECK(whole.symptoms[0].count == 5);
  for (std::size_t size = 1; size < 300; ++size) {
    INFO(size);
    LogReader reader;
    for (std::size_t i = 0; i < log.size(); i += size) {
      reader.feed(std::string_view(log).substr(i, size));
    }
    const LogAnswer answer = reader.finish();
    CHECK(answer.lines == whole.lines);
    REQUIRE(answer.symptoms.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(answer.symptoms[i].count == whole.symptoms[i].count);
      CHECK(answer.symptoms[i].first_line == whole.symptoms[i].first_line);
      CHECK(answer.symptoms[i].text == whole.symptoms[i].text);
    }
  }
}

TEST_CASE("every pattern of the table is found in the middle of a log, wherever it lies") {
  for (const Signature& signature : signatures()) {
    for (const std::string_view pattern : signature.patterns) {
      std::string text(pattern);
      std::erase(text, '|');
      std::replace(text.begin(), text.end(), '*', ' ');
      for (std::size_t before = 0; !text.empty() && before < 8; ++before) {
        INFO(text << " behind " << before);
        const LogAnswer answer =
            read("noise\n" + std::string(before, '.') + text + "\nnoise\n" + std::string(40, '.'));
        REQUIRE(answer.symptoms.size() == 1);
        CHECK(answer.symptoms[0].first_line == 2);
      }
    }
  }
}
