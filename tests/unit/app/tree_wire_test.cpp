// What a worker of `tree` hands back: the same on the other side, or refused.
#include "app/tree_wire.hpp"

#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

ProcessAnswer answer() {
  ProcessAnswer out;
  out.host = "gpu-17";
  NodeProcess& process = out.process;
  process.facts.pid = 4123;
  process.facts.parent_pid = 4102;
  process.facts.start_ticks = UINT64_MAX;
  process.facts.uid = 1000;
  process.facts.comm = std::string("a\0:b", 4);
  process.facts.command_line = Fact<std::vector<std::string>>::known({"", "x y", "3:z"});
  process.facts.executable = Fact<std::string>::unknown("refused");
  process.facts.ns_pids = {4123, 77};
  process.state = ProcessState::judged;
  process.gpus = {"GPU-1"};
  process.verdict = ProcessVerdict{};
  process.verdict->end = RunEnd::findings;
  process.verdict->worst = Severity::critical;
  process.verdict->lead.id = "RT04";
  process.verdict->lead.fixes = {"one", "two"};
  process.verdict->findings = {{"RT04", Severity::critical},
                               {"RT07", Severity::warning, Owner::node}};
  process.verdict->allowed = {{"RT06", Severity::info, "--allow RT06"}};
  process.verdict->ended = {"--allow RT04 ended 2026-01-31"};
  out.digest = ReportDigest{};
  out.digest->traits.push_back(
      {Area::namespaces, {"a", "b", "c"}, "title", {{"name", "value", false}}});
  out.digest->unread.push_back({Area::environment, "why", true});
  out.digest->order = {"x", "y"};
  out.naming.variables = {{"USER", "gretchen"}};
  return out;
}

TEST_CASE("an answer arrives as it was sent") {
  const std::string bytes = write_answer(answer());
  const auto read = parse_answer(bytes);
  REQUIRE(read.has_value());
  // Written again it is the same bytes: every field that is sent was read.
  CHECK(write_answer(*read) == bytes);
  const NodeProcess& process = read->process;
  CHECK(process.facts.start_ticks == UINT64_MAX);
  CHECK(process.facts.comm == std::string("a\0:b", 4));
  CHECK(process.facts.command_line.get()->at(2) == "3:z");
  CHECK(process.facts.executable.reason() == "refused");
  CHECK(process.verdict->worst == Severity::critical);
  CHECK(process.verdict->findings.size() == 2);
  CHECK(process.verdict->findings.back().owner == Owner::node);
  CHECK(process.verdict->allowed.front().by == "--allow RT06");
  CHECK(process.verdict->ended.size() == 1);
  CHECK(read->digest->traits.front().attributes.front().known == false);
  CHECK(read->naming.variables.front().second == "gretchen");
}

TEST_CASE("an answer that was cut anywhere, or goes on, is refused") {
  const std::string bytes = write_answer(answer());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE_FALSE(parse_answer(std::string_view(bytes).substr(0, size)).has_value());
  }
  CHECK_FALSE(parse_answer(bytes + "0:").has_value());
}

TEST_CASE("a command line is cut behind four KiB, in one word or in many") {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, std::size_t{100'000}}) {
    ProcessAnswer long_one = answer();
    long_one.process.facts.command_line = Fact<std::vector<std::string>>::known(
        std::vector<std::string>(100'000 / size, std::string(size, 'x')));
    const auto read = parse_answer(write_answer(long_one));
    REQUIRE(read.has_value());
    std::size_t kept = 0;
    for (const auto& word : *read->process.facts.command_line.get()) kept += word.size() + 1;
    CHECK(kept <= 4097);
    CHECK(kept > 4000);
  }
}

}  // namespace
}  // namespace cudart_doctor
