// Groups, odd ranks, verdicts and folding of many processes, put together by hand.
#include "cudart_doctor/analyze/tree.hpp"

#include "cudart_doctor/analyze/tree_rows.hpp"
#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

ReportDigest digest(const std::string& runtime) {
  ReportDigest out;
  out.traits.push_back(
      {Area::runtimes, {runtime, runtime, runtime}, runtime, {{"version", runtime, true}}});
  return out;
}

void set_variable(ReportDigest& digest, const std::string& name, const std::string& value) {
  digest.traits.push_back({Area::environment, {name, name, name}, name, {{"value", value, true}}});
}

NodeProcess process(std::int64_t pid, std::int64_t parent, const std::string& title) {
  NodeProcess out;
  out.facts.pid = pid;
  out.facts.parent_pid = parent;
  out.facts.command_line = Fact<std::vector<std::string>>::known({title});
  out.facts.executable = Fact<std::string>::known("/usr/bin/python3");
  return out;
}

ProcessVerdict verdict(RunEnd end, std::optional<Severity> worst) {
  ProcessVerdict out;
  out.end = end;
  out.worst = worst;
  out.runtimes = 1;
  return out;
}

class Tree {
 public:
  Tree& add(NodeProcess each) {
    report_.processes.push_back(std::move(each));
    return *this;
  }
  Tree& judged(NodeProcess each, const std::string& runtime, ProcessVerdict what = {}) {
    each.state = ProcessState::judged;
    if (what.runtimes == 0) what.runtimes = 1;
    each.verdict = std::move(what);
    each.group = groups_.place(digest(runtime));
    return add(std::move(each));
  }
  TreeReport take() {
    std::move(groups_).give_to(report_);
    find_ranks(report_);
    conclude(report_);
    return std::move(report_);
  }

 private:
  TreeReport report_;
  ProcessGroups groups_;
};

std::vector<std::int64_t> pids(const TreeReport& report, const std::vector<std::size_t>& members) {
  std::vector<std::int64_t> out;
  for (const std::size_t member : members) out.push_back(report.processes[member].facts.pid);
  return out;
}

using Pids = std::vector<std::int64_t>;

TEST_CASE("variables that each rank has of its own do not tell ranks apart, others do") {
  ProcessGroups groups;
  for (const char* const name :
       {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LOCAL_RANK", "RANK"}) {
    auto one = digest("12.8");
    auto two = digest("12.8");
    set_variable(one, name, "0");
    set_variable(two, name, "1");
    CHECK(groups.place(one) == groups.place(two));
  }
  auto one = digest("12.8");
  auto two = digest("12.8");
  set_variable(one, "LD_PRELOAD", "/a.so");
  set_variable(two, "LD_PRELOAD", "/b.so");
  CHECK(groups.place(one) != groups.place(two));
}

TEST_CASE(
    "spawned processes, whose command lines are one, are ranks by the names they gave themselves") {
  Tree tree;
  tree.add(process(1, 0, "vllm serve"));
  const auto spawned = [](std::int64_t pid, const std::string& name) {
    NodeProcess out = process(pid, 1, "");
    out.facts.command_line = Fact<std::vector<std::string>>::known(
        {"python3", "-B", "-c", "from multiprocessing.spawn import spawn_main"});
    out.facts.comm = name;
    return out;
  };
  tree.judged(spawned(2, "EngineCore"), "engine");
  for (const std::int64_t pid : {3, 4, 5}) {
    tree.judged(spawned(pid, "Worker_TP" + std::to_string(pid)), "12.8");
  }
  const TreeReport report = tree.take();
  REQUIRE(report.ranks.size() == 1);
  CHECK(pids(report, report.ranks.front().members) == Pids{3, 4, 5});
}

TEST_CASE("more different ones than are kept are in no group") {
  ProcessGroups groups;
  for (std::size_t i = 0; i < ProcessGroups::kMost; ++i) {
    REQUIRE(groups.place(digest(std::to_string(i))).has_value());
  }
  CHECK_FALSE(groups.place(digest("one more")).has_value());
  CHECK(groups.place(digest("7")) == std::optional<std::size_t>(7));
}

TEST_CASE("the gravest group stands first, then the largest") {
  Tree tree;
  tree.judged(process(1, 0, "a"), "ok");
  for (const std::int64_t pid : {2, 3}) tree.judged(process(pid, 1, "b"), "fine");
  tree.judged(process(4, 1, "c"), "warned", verdict(RunEnd::warned, Severity::warning));
  tree.judged(process(5, 1, "d"), "open", verdict(RunEnd::undecided, Severity::warning));
  tree.judged(process(6, 1, "e"), "found", verdict(RunEnd::findings, Severity::error));
  const TreeReport report = tree.take();
  std::vector<std::int64_t> first;
  for (const auto& group : report.groups) first.push_back(pids(report, group.members).front());
  CHECK(first == Pids{6, 5, 4, 2, 1});
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const auto& members = report.groups[*report.processes[i].group].members;
    CHECK(std::ranges::find(members, i) != members.end());
  }
}

TEST_CASE("ranks are siblings of one title; whoever is of another kind is not odd") {
  Tree tree;
  tree.add(process(1, 0, "vllm serve"));
  tree.judged(process(2, 1, "VLLM::EngineCore"), "engine");
  for (const std::int64_t pid : {3, 4, 6}) {
    tree.judged(process(pid, 2, "VLLM::Worker_TP" + std::to_string(pid)), "12.8");
  }
  tree.judged(process(5, 2, "VLLM::Worker_TP15"), "stub",
              verdict(RunEnd::findings, Severity::critical));
  const TreeReport report = tree.take();
  REQUIRE(report.ranks.size() == 1);
  const RankSet& set = report.ranks.front();
  CHECK(pids(report, set.members) == Pids{3, 4, 6, 5});
  REQUIRE(set.majority.has_value());
  CHECK(pids(report, report.groups[*set.majority].members) == Pids{3, 4, 6});
  REQUIRE(set.odd.size() == 1);
  CHECK(pids(report, set.odd.front().members) == Pids{5});
  CHECK_FALSE(set.odd.front().changes.empty());
}

TEST_CASE("what makes a kind: depth, executable and title without numbers") {
  const auto sets = [](const NodeProcess& other) {
    Tree tree;
    tree.add(process(1, 0, "serve"));
    tree.judged(process(2, 1, "rank 0"), "12.8");
    tree.judged(other, "12.8");
    return tree.take().ranks.size();
  };
  CHECK(sets(process(3, 1, "rank 17")) == 1);
  CHECK(sets(process(3, 2, "rank 17")) == 0);
  CHECK(sets(process(3, 1, "detokenizer 17")) == 0);
  auto other = process(3, 1, "rank 17");
  other.facts.executable = Fact<std::string>::known("/usr/bin/node");
  CHECK(sets(other) == 0);
}

TEST_CASE("a rank holds a GPU or a runtime") {
  Tree tree;
  tree.add(process(1, 0, "serve"));
  for (const std::int64_t pid : {2, 3}) tree.judged(process(pid, 1, "rank"), "12.8");
  auto idle = process(4, 1, "rank");
  idle.state = ProcessState::judged;
  idle.verdict = ProcessVerdict{};
  idle.group = 0;
  tree.add(idle);
  auto with_card = idle;
  with_card.facts.pid = 5;
  with_card.gpus = {"GPU-1"};
  tree.add(with_card);
  const TreeReport report = tree.take();
  REQUIRE(report.ranks.size() == 1);
  CHECK(pids(report, report.ranks.front().members) == Pids{2, 3, 5});
  CHECK(pids(report, report.ranks.front().without) == Pids{4});
}

TEST_CASE("who of a kind holds nothing is named where most of the kind hold something") {
  const auto without = [](std::int64_t holders, std::int64_t others, const std::string& title) {
    Tree tree;
    tree.add(process(1, 0, "serve"));
    std::int64_t pid = 2;
    for (std::int64_t i = 0; i < holders; ++i) tree.judged(process(pid++, 1, "rank 0"), "12.8");
    for (std::int64_t i = 0; i < others; ++i) tree.add(process(pid++, 1, title));
    auto unread = process(pid, 1, "rank 99");
    unread.state = ProcessState::unread;
    tree.add(unread);
    const TreeReport report = tree.take();
    REQUIRE(report.ranks.size() == 1);
    CHECK(report.ranks.front().odd.empty());
    return pids(report, report.ranks.front().without);
  };
  CHECK(without(2, 1, "rank 7") == Pids{4});
  CHECK(without(3, 2, "rank 7") == Pids{5, 6});
  CHECK(without(2, 2, "rank 7").empty());
  CHECK(without(3, 1, "tokenizer 7").empty());
  CHECK(without(3, 0, "").empty());
}

TEST_CASE("no majority, nobody is odd: of two, and where half is not more than half") {
  const auto odd = [](const std::vector<std::string>& runtimes) {
    Tree tree;
    tree.add(process(1, 0, "serve"));
    std::int64_t pid = 2;
    for (const auto& each : runtimes) tree.judged(process(pid++, 1, "rank"), each);
    const TreeReport report = tree.take();
    REQUIRE(report.ranks.size() == 1);
    REQUIRE(report.ranks.front().majority.has_value() == !report.ranks.front().odd.empty());
    return report.ranks.front().odd.size();
  };
  CHECK(odd({"a", "b"}) == 0);
  CHECK(odd({"a", "a", "b", "b"}) == 0);
  CHECK(odd({"a", "a", "b"}) == 1);
  CHECK(odd({"a", "a", "a", "a", "b", "c"}) == 2);
}

struct EndCase {
  const char* name;
  ProcessState state;
  ErrorKind reason;
  RunEnd tree;
  RunEnd node;
};

TEST_CASE("what could not be seen decides a tree, and a node only where it matters") {
  const auto row = GENERATE(values<EndCase>(
      {{"refused", ProcessState::unread, ErrorKind::permission, RunEnd::undecided, RunEnd::ok},
       {"silent", ProcessState::unread, ErrorKind::timeout, RunEnd::undecided, RunEnd::undecided},
       {"not judged", ProcessState::unjudged, ErrorKind::permission, RunEnd::undecided,
        RunEnd::undecided},
       {"ended", ProcessState::gone, ErrorKind::gone, RunEnd::ok, RunEnd::ok},
       {"zombie", ProcessState::zombie, ErrorKind::io, RunEnd::ok, RunEnd::ok},
       {"kernel", ProcessState::kernel_thread, ErrorKind::io, RunEnd::ok, RunEnd::ok}}));
  INFO(row.name);
  for (const TreeScope scope : {TreeScope::tree, TreeScope::node}) {
    TreeReport report;
    report.scope = scope;
    report.processes = {process(1, 0, "a"), process(2, 1, "b")};
    report.processes[1].state = row.state;
    report.processes[1].reason = row.reason;
    TreeReport alone = report;
    TreeReport nothing_seen = report;
    report.processes[0].state = ProcessState::judged;
    report.processes[0].verdict = verdict(RunEnd::ok, Severity::info);
    conclude(report);
    CHECK(report.end == (scope == TreeScope::tree ? row.tree : row.node));
    CHECK(report.undecided.empty() == (report.end != RunEnd::undecided));
    // Beside processes without CUDA alone, one that may not be read could be the one.
    nothing_seen.processes[0].state = ProcessState::without_cuda;
    conclude(nothing_seen);
    const bool hidden = row.state == ProcessState::unread || row.state == ProcessState::unjudged;
    CHECK((nothing_seen.end == RunEnd::undecided) == hidden);
    // Where nothing at all could be read, nothing was decided.
    alone.processes.erase(alone.processes.begin());
    conclude(alone);
    CHECK(alone.end == RunEnd::undecided);
    CHECK(alone.exit_code == 3);
  }
}

TEST_CASE("what was found stands, whatever could not be seen; the gravest leads") {
  Tree tree;
  tree.judged(process(1, 0, "a"), "a", verdict(RunEnd::warned, Severity::warning));
  tree.judged(process(2, 1, "b"), "b", verdict(RunEnd::findings, Severity::error));
  tree.judged(process(3, 1, "c"), "c", verdict(RunEnd::findings, Severity::critical));
  auto silent = process(4, 1, "d");
  silent.state = ProcessState::unread;
  tree.add(silent);
  const TreeReport report = tree.take();
  CHECK(report.end == RunEnd::findings);
  CHECK(report.exit_code == 1);
  CHECK(report.undecided.empty());
  CHECK(report.worst == Severity::critical);
  CHECK(report.processes[report.lead.value()].facts.pid == 3);
}

/// "1 2 3+2": depth by blanks would be hard to read, so PIDs and folded counts.
std::string drawn(const TreeReport& report, Fold fold) {
  std::string out;
  for (const TreeRow& row : tree_rows(report, fold)) {
    out += out.empty() ? "" : " ";
    out += row.folded != 0 ? "+" + std::to_string(row.folded) + "/" + std::to_string(row.below)
                           : std::to_string(report.processes[row.process].facts.pid);
  }
  return out;
}

TEST_CASE("siblings that are alike are folded, and nobody else") {
  Tree tree;
  tree.add(process(1, 0, "serve"));
  for (std::int64_t pid = 2; pid < 7; ++pid) tree.judged(process(pid, 1, "rank"), "12.8");
  tree.judged(process(7, 1, "rank"), "stub");
  tree.add(process(8, 1, "tracker"));
  tree.add(process(9, 1, "logger"));
  tree.add(process(10, 1, "shell"));
  const TreeReport report = tree.take();
  CHECK(drawn(report, Fold::none) == "1 2 3 4 5 6 7 8 9 10");
  CHECK(drawn(report, Fold::alike) == "1 2 3 +3/3 7 8 9 10");
  CHECK(drawn(report, Fold::grouped) == "1 2 +4/4 7 8 +2/2");
}

TEST_CASE("what is folded counts all below it; subtrees that differ below are not alike") {
  Tree tree;
  tree.add(process(1, 0, "serve"));
  std::int64_t pid = 2;
  for (int engine = 0; engine < 5; ++engine) {
    const std::int64_t parent = pid++;
    tree.judged(process(parent, 1, "engine"), "12.8");
    const std::string runtime = engine == 3 ? "stub" : "12.8";
    tree.judged(process(pid++, parent, "rank"), runtime);
  }
  const TreeReport report = tree.take();
  CHECK(drawn(report, Fold::alike) == "1 2 3 4 5 +2/4 8 9");
}

TEST_CASE("a tree as deep as the kernel allows is drawn without running out of stack") {
  TreeReport report;
  constexpr std::int64_t kDeep = 20'000;
  for (std::int64_t pid = 1; pid <= kDeep; ++pid) {
    report.processes.push_back(process(pid, pid - 1, "sh"));
  }
  const auto rows = tree_rows(report, Fold::alike);
  REQUIRE(rows.size() == std::size_t(kDeep));
  CHECK(rows.back().depth == std::size_t(kDeep - 1));
}

TEST_CASE("of an empty tree nothing is drawn, and nothing is decided") {
  TreeReport report;
  CHECK(tree_rows(report, Fold::alike).empty());
  conclude(report);
  CHECK(report.end == RunEnd::undecided);
}

}  // namespace
}  // namespace cudart_doctor
