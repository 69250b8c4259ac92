// The parser of case files is strict: each rule of the format, broken once, is an error.
#include "case_file.hpp"

#include "cudart_doctor/base/text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kMapsLine =
    "7f0000000000-7f0000001000 r-xp 00000000 fe:02 41                         /a/libcudart.so.12\n";
const std::string kMapsBelow =
    "7e0000000000-7e0000001000 r-xp 00000000 fe:02 42                         /b/libx.so\n";

/// A good case whose parts can be exchanged.
struct Text {
  std::string head = "case X-1\ntitle a title\nrefs R01 M7\nnote one\nnote two\n";
  std::string maps = kMapsLine;
  std::string facts = "obj /a/libcudart.so.12 kind=cudart soname=libcudart.so.12 ver=12.4\n";
  std::string expect = "runtimes 1\n";
  std::string more{};

  [[nodiscard]] std::string text() const {
    return head + "[maps]\n" + maps + "[facts]\n" + facts + "[expect]\n" + expect + more;
  }
};

Result<std::vector<CaseRun>> parse(const std::string& text) {
  return parse_case(text, "dir/X-1.case");
}

void check_refused(std::string_view name, const std::string& text) {
  INFO(name);
  CHECK_FALSE(parse(text).has_value());
}

Text with_facts(std::string line) { return {.facts = std::move(line)}; }
Text with_expect(std::string lines) { return {.expect = std::move(lines)}; }
Text with_head(std::string head) { return {.head = std::move(head)}; }
Text with_maps(std::string maps) { return {.maps = std::move(maps)}; }
Text with_more(std::string more) { return {.more = std::move(more)}; }

}  // namespace

TEST_CASE("the good case, with comments and empty lines anywhere, is one run") {
  const auto plain = parse(Text{}.text());
  REQUIRE(plain.has_value());
  CHECK(plain->size() == 1);
  CHECK(plain->front().name == "X-1");

  Text spaced;
  spaced.head = "# first\n\n" + spaced.head;
  spaced.maps = "\n# inside\n" + spaced.maps;
  spaced.facts += "\n# after\n";
  const auto runs = parse(spaced.text());
  REQUIRE(runs.has_value());
  CHECK(runs->front().maps == kMapsLine);
  CHECK(runs->front().facts.objects.size() == 1);
}

TEST_CASE("bytes are data: trailing blanks and separators inside paths stay") {
  Text text;
  text.maps =
      "7f0000000000-7f0000001000 r-xp 00000000 fe:02 41                         /a kind b/x \n"
      "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n";
  text.facts =
      "obj /a dev=1 kind=other\n"
      "disk /a dev=x dev=fe:02 ino=7\n"
      "disk /a absent absent\n"
      "search a -> /b -> c\n"
      "env A=b=c \n";
  const auto runs = parse(text.text());
  REQUIRE(runs.has_value());
  const CaseFacts& facts = runs->front().facts;
  CHECK(runs->front().maps == text.maps);
  CHECK(facts.objects.front().path == "/a dev=1");
  CHECK(facts.disk.front().path == "/a dev=x");
  CHECK(facts.disk.back().path == "/a absent");
  CHECK(facts.searches.front() == std::pair<std::string, std::string>("a", "/b -> c"));
  CHECK(facts.environment.front() == std::pair<std::string, std::string>("A", "b=c "));
}

TEST_CASE("a variant takes from the base what it does not give") {
  const auto runs = parse(with_more("[expect other]\nruntimes 2\n").text());
  REQUIRE(runs.has_value());
  REQUIRE(runs->size() == 2);
  CHECK(runs->back().name == "X-1 [other]");
  CHECK(runs->back().maps == kMapsLine);
  CHECK(runs->back().expectations.front().value == "2");
  CHECK(runs->front().expectations.front().value == "1");
}

TEST_CASE("headers: known words, before the blocks, case and title once") {
  const std::pair<std::string_view, Text> rows[] = {
      {"no case", with_head("title t\n")},
      {"no title", with_head("case X-1\n")},
      {"case twice", with_head("case X-1\ncase X-1\ntitle t\n")},
      {"title twice", with_head("case X-1\ntitle t\ntitle t\n")},
      {"refs twice", with_head("case X-1\ntitle t\nrefs R01\nrefs R02\n")},
      {"refs with two blanks", with_head("case X-1\ntitle t\nrefs R01  R02\n")},
      {"title without text", with_head("case X-1\ntitle \n")},
      {"another file's name", with_head("case X-2\ntitle t\n")},
      {"an unknown header", with_head("case X-1\ntitle t\nauthor me\n")},
      {"a blank before the word", with_head(" case X-1\ntitle t\n")},
      {"a byte-order mark", with_head("\xef\xbb\xbf"
                                      "case X-1\ntitle t\n")},
      {"CR LF", with_head("case X-1\r\ntitle t\r\n")},
      {"a header behind the blocks", with_more("note late\n")}};
  for (const auto& [name, text] : rows) check_refused(name, text.text());
}

TEST_CASE("blocks: each base block once and in order, marks as the grammar has them") {
  const std::string maps = "[maps]\n" + kMapsLine;
  const std::string facts = "[facts]\n";
  const std::string expect = "[expect]\nruntimes 1\n";
  const std::string head = Text{}.head;
  const std::pair<std::string_view, std::string> rows[] = {
      {"no block", head},
      {"no expect", head + maps + facts},
      {"no facts", head + maps + expect},
      {"another order", head + facts + maps + expect},
      {"maps twice", head + maps + facts + expect + maps},
      {"a variant before the base", head + "[maps v]\n" + maps + facts + expect},
      {"a variant's block twice", head + maps + facts + expect + "[facts v]\n[facts v]\n"},
      {"an unknown block", head + maps + facts + expect + "[disk]\n"},
      {"no closing bracket", head + "[maps\n" + kMapsLine + facts + expect},
      {"capitals in a variant", head + maps + facts + expect + "[facts V]\n"},
      {"an empty variant", head + maps + facts + expect + "[facts ]\n"},
      {"a blank behind the mark", head + "[maps] \n" + kMapsLine + facts + expect},
      {"no LF at the end", head + maps + facts + "[expect]\nruntimes 1"},
      {"a tab", head + maps + "[facts]\nenv A=\tb\n" + expect}};
  for (const auto& [name, text] : rows) check_refused(name, text);
}

TEST_CASE("maps: lines as the kernel writes them, in address order") {
  check_refused("no maps line", with_maps("libcudart.so.12\n").text());
  check_refused("a fact", with_maps(kMapsLine + "env A=b\n").text());
  check_refused("three permissions",
                with_maps("7f0000000000-7f0000001000 r-x 00000000 fe:02 41 /a\n").text());
  check_refused("not in address order", with_maps(kMapsLine + kMapsBelow).text());
  CHECK(parse(with_maps(kMapsBelow + kMapsLine).text()).has_value());
}

TEST_CASE("facts: known kinds, keys and values, each key once") {
  const std::pair<std::string_view, std::string> rows[] = {
      {"an unknown word", "object /a kind=other\n"},
      {"a word alone", "obj\n"},
      {"no kind", "obj /a soname=x\n"},
      {"no path", "obj  kind=other\n"},
      {"an unknown kind", "obj /a kind=library\n"},
      {"an unknown key", "obj /a kind=other colour=red\n"},
      {"a key twice", "obj /a kind=other soname=x soname=x\n"},
      {"two blanks", "obj /a kind=other  soname=x\n"},
      {"a blank at the end", "obj /a kind=other \n"},
      {"no value", "obj /a kind=other soname=\n"},
      {"needed is no number", "obj /a kind=other needed=two\n"},
      {"size is no number", "obj /a kind=other size=62k\n"},
      {"named is not 1", "obj /a kind=other named=yes\n"},
      {"build is not hexadecimal", "obj /a kind=cudart build=xyz\n"},
      {"an unknown rule", "obj /a kind=other uses=cudnn\n"},
      {"no version", "obj /a kind=other undefined=cudaMalloc\n"},
      {"disk without anything", "disk /a\n"},
      {"disk without a path", "disk  absent\n"},
      {"disk without an inode", "disk /a dev=fe:02\n"},
      {"disk with a third key", "disk /a dev=fe:02 ino=1 size=2\n"},
      {"a bad device", "disk /a dev=fe02 ino=1\n"},
      {"a bad inode", "disk /a dev=fe:02 ino=x\n"},
      {"search without an arrow", "search a /b\n"},
      {"search without a path", "search a -> \n"},
      {"env without a name", "env =b\n"},
      {"env without a value", "env A\n"},
      {"an unknown host key", "host driver=1\n"},
      {"a host key twice", "host kmod=1\nhost kmod=1\n"},
      {"an unknown probe key", "probe ipc=0\n"},
      {"a probe key twice", "probe ipc.local=0\nprobe ipc.local=0\n"}};
  for (const auto& [name, line] : rows) check_refused(name, with_facts(line).text());
}

TEST_CASE("expectations: known words, rules, ids and severities; runtimes once") {
  const std::pair<std::string_view, std::string> rows[] = {
      {"no runtimes", "absent RT04\n"},
      {"runtimes twice", "runtimes 1\nruntimes 1\n"},
      {"runtimes is no number", "runtimes one\n"},
      {"an unknown word", "runtimes 1\nfound RT04 critical\n"},
      {"an unknown rule", "runtimes 1\nselect scan-all = NONE\n"},
      {"no equals sign", "runtimes 1\nselect scan-basename NONE\n"},
      {"an unknown word of failure", "runtimes 1\nselect scan-basename = FAIL:closed\n"},
      {"neither path nor word", "runtimes 1\nselect scan-basename = none\n"},
      {"an unknown id", "runtimes 1\nfind RT13 error\n"},
      {"an id in small letters", "runtimes 1\nfind rt04 critical\n"},
      {"an unknown severity", "runtimes 1\nfind RT04 fatal\n"},
      {"no severity", "runtimes 1\nfind RT04\n"},
      {"a severity for absent", "runtimes 1\nabsent RT04 critical\n"}};
  for (const auto& [name, lines] : rows) check_refused(name, with_expect(lines).text());
}

TEST_CASE("an error names its line") {
  const auto runs = parse(with_facts("host driver=1\n").text());
  REQUIRE_FALSE(runs.has_value());
  CHECK(runs.error().message.starts_with("line 9: "));
}

TEST_CASE("finding ids are those of the catalogue's families, no others") {
  for (const std::string_view id : {"RT01", "RT12", "MP08", "DR15", "IP09", "SY06"}) {
    INFO(id);
    CHECK(is_finding_id(id));
  }
  for (const std::string_view id :
       {"RT00", "RT13", "MP09", "DR16", "IP10", "SY07", "XX01", "RT1", "RT001", ""}) {
    INFO(id);
    CHECK_FALSE(is_finding_id(id));
  }
}
