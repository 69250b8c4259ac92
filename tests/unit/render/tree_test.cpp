// `tree` and `--all` as text, line and metrics, of reports put together by hand.
#include "cudart_doctor/render/tree.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cudart_doctor/analyze/tree.hpp"
#include "render/style.hpp"
#include "render/tree_words.hpp"
#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

NodeProcess process(std::int64_t pid, std::int64_t parent, const std::string& title) {
  NodeProcess out;
  out.facts.pid = pid;
  out.facts.parent_pid = parent;
  out.facts.comm = title.substr(0, 15);
  out.facts.command_line = Fact<std::vector<std::string>>::known({title});
  return out;
}

NodeProcess judged(NodeProcess out, std::optional<Severity> worst, const std::string& id) {
  out.state = ProcessState::judged;
  out.verdict = ProcessVerdict{};
  out.verdict->runtimes = 1;
  out.verdict->worst = worst;
  if (!worst) return out;
  out.verdict->end = *worst >= Severity::error     ? RunEnd::findings
                     : *worst == Severity::warning ? RunEnd::warned
                                                   : RunEnd::ok;
  out.verdict->lead.id = id;
  out.verdict->lead.severity = *worst;
  out.verdict->lead.headline = "FlashInfer takes the stub libcudart_stub.so for the CUDA runtime.";
  out.verdict->lead.effect = std::string(300, 'e') + " and words and more words";
  for (int i = 0; i < 9; ++i) out.verdict->lead.fixes.push_back("Do this, then that, then these");
  out.verdict->findings = {{id, *worst}, {"RT06", Severity::info}};
  return out;
}

ReportDigest digest(const std::string& runtime, const std::string& worst) {
  ReportDigest out;
  out.traits.push_back(
      {Area::runtimes, {runtime, runtime, runtime}, runtime, {{"version", runtime, true}}});
  out.worst = worst;
  out.sentence = "A sentence about " + runtime + " that is long enough to need a second line, too.";
  out.blind = {"3 objects could not be read"};
  return out;
}

/// A server with as much of everything as there may be.
TreeReport crowd(TreeScope scope) {
  TreeReport report;
  report.scope = scope;
  report.root = 100'000;
  report.host = "a-node-with-a-name-of-sixty-four-characters-that-nobody-can-remember";
  report.taken_at = "2026-12-01T03:00:00Z";
  ProcessGroups groups;
  report.processes.push_back(process(100'000, 1, "serve \x1b[2J\xff" + std::string(500, 'x')));
  for (std::int64_t i = 1; i <= 400; ++i) {
    const std::string kind = std::to_string(i % 29);
    NodeProcess each =
        judged(process(100'000 + i, 100'000 + i / 3, "rank" + std::to_string(i) + "_\u202e" + kind),
               i % 29 == 0 ? Severity::critical : Severity::warning, i % 29 == 0 ? "RT04" : "RT07");
    each.facts.ns_pids = {each.facts.pid, i};
    each.gpus = {"GPU-cc1d84a2-0000-0000", "nvidia7"};
    each.verdict->consumers = {"vLLM 1", "FlashInfer 2 \x1b[1m", kind};
    each.group = groups.place(digest(kind, i % 29 == 0 ? "critical" : "warning"));
    report.processes.push_back(std::move(each));
  }
  for (std::int64_t i = 1; i <= 50; ++i) {
    NodeProcess each = process(200'000 + i, 100'000, "other" + std::string(std::size_t(i), 'y'));
    each.state = i % 2 == 0 ? ProcessState::unread : ProcessState::unjudged;
    each.reason = i % 3 == 0 ? ErrorKind::permission : ErrorKind::timeout;
    each.note = "it did not answer in time, at: read /mnt/" + std::to_string(i);
    report.processes.push_back(std::move(each));
  }
  // Parents stand before their children.
  std::move(groups).give_to(report);
  find_ranks(report);
  conclude(report);
  report.notes = {"one", "two", "three", "four", "five"};
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

TEST_CASE("however much there is, it is one screen, and no line is wider than the terminal") {
  for (const TreeScope scope : {TreeScope::tree, TreeScope::node}) {
    const TreeReport report = crowd(scope);
    for (std::size_t columns = kFewestColumns; columns <= kMostColumns; ++columns) {
      for (const bool verbose : {false, true}) {
        const std::string text = render_tree_text(report, {.verbose = verbose, .columns = columns});
        const auto lines = lines_of(text);
        if (!verbose && columns == kMostColumns) CHECK(lines.size() <= 40);
        for (const std::string& line : lines) {
          INFO(columns << " " << verbose << ": " << line);
          // With -v what is to be copied stands whole.
          if (!verbose) REQUIRE(display_width(line) <= columns);
          REQUIRE(line.find('\x1b') == std::string::npos);
        }
      }
    }
  }
}

/// A server whose one rank has this verdict.
TreeReport with_rank(NodeProcess rank) {
  TreeReport report;
  report.root = 1;
  ProcessGroups groups;
  report.processes.push_back(process(1, 0, "serve"));
  rank.group = groups.place(digest("a", "critical"));
  report.processes.push_back(std::move(rank));
  std::move(groups).give_to(report);
  conclude(report);
  return report;
}

bool has_line(const std::string& text, const std::string& beginning) {
  return std::ranges::any_of(lines_of(text),
                             [&](const auto& line) { return line.starts_with(beginning); });
}

TEST_CASE("a group names every finding of its processes, and which of them are the node's") {
  NodeProcess rank = judged(process(2, 1, "rank"), Severity::critical, "RT04");
  rank.verdict->findings = {{"RT04", Severity::critical, Owner::image},
                            {"RT03", Severity::error, Owner::image},
                            {"RT04", Severity::error, Owner::image},
                            {"DR10", Severity::warning, Owner::node},
                            {"RT06", Severity::info, Owner::user}};
  const std::string text = render_tree_text(with_rank(rank), {});
  INFO(text);
  CHECK(has_line(text, " A  CRITICAL RT04  1 process, pid 2; also RT03, RT06; DR10 (node)"));
  CHECK(has_line(text, "OWNER    image; DR10 is the node's"));
  rank.verdict->findings[3].severity = Severity::info;
  CHECK(has_line(render_tree_text(with_rank(rank), {}), "OWNER    image, not node: do not drain"));
  NodeProcess calm = judged(process(2, 1, "rank"), Severity::info, "RT06");
  calm.verdict->findings = {{"RT06", Severity::info, Owner::user}};
  CHECK(has_line(render_tree_text(with_rank(calm), {}), " A  ok  1 process, pid 2; info: RT06"));
}

TEST_CASE("what is allowed, and what no longer is, is shown") {
  NodeProcess rank = judged(process(2, 1, "rank"), std::nullopt, "");
  rank.verdict->allowed = {{"RT07", Severity::warning, "--allow RT07 until 2027-01-31"},
                           {"RT03", Severity::error, "allow.txt:3 RT03"}};
  rank.verdict->ended = {"--allow RT04 ended 2026-01-31"};
  const TreeReport report = with_rank(rank);
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(has_line(text, "Nothing that counts is wrong in 1 process with CUDA."));
  CHECK(has_line(text, "ALLOW    --allow RT04 ended 2026-01-31"));
  CHECK(has_line(text, "ALLOWED: without a say in the verdict"));
  CHECK(text.find(" ERROR RT03  pid 2: allow.txt:3 RT03\n"
                  " WARNING RT07  pid 2: --allow RT07 until 2027-01-31\n") != std::string::npos);
  CHECK(text.find("2 allowed; 0 processes at or above --fail-on error") != std::string::npos);
  CHECK(render_tree_line(report) ==
        "OK Nothing that counts is wrong in 1 process with CUDA; allowed: RT07, RT03\n");
  const auto json = nlohmann::json::parse(render_tree_json(report));
  const auto& verdict = json.at("processes").at(1).at("verdict");
  CHECK(verdict.at("allowed").at(1) ==
        nlohmann::json{{"id", "RT03"}, {"severity", "error"}, {"by", "allow.txt:3 RT03"}});
}

TEST_CASE("a rank without CUDA is told, counted, and listed") {
  TreeReport report;
  report.root = 1;
  ProcessGroups groups;
  report.processes.push_back(process(1, 0, "serve"));
  for (std::int64_t pid = 2; pid < 5; ++pid) {
    report.processes.push_back(
        judged(process(pid, 1, "rank " + std::to_string(pid)), std::nullopt, ""));
    report.processes.back().group = groups.place(digest("a", ""));
  }
  report.processes.push_back(process(5, 1, "rank 5"));
  std::move(groups).give_to(report);
  find_ranks(report);
  conclude(report);
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(has_line(text, "ODD      rank 5 (pid 5) holds neither a GPU nor a runtime, unlike 3"));
  CHECK_FALSE(has_line(text, "RANKS"));
  CHECK(render_tree_prometheus(report).find("cudart_doctor_odd_ranks 1\n") != std::string::npos);
  const auto json = nlohmann::json::parse(render_tree_json(report));
  CHECK(json.at("ranks").at(0).at("without") == nlohmann::json::array({5}));
}

/// What one rule takes of these libraries, at ascending addresses.
ReportDigest takes(const std::string& library, const std::vector<std::string>& order) {
  ReportDigest out = digest(library, "");
  out.policy = "flashinfer-2026-09";
  out.traits.push_back({Area::selections,
                        {out.policy, out.policy, out.policy},
                        out.policy,
                        {{"takes", "/lib/" + library, true}}});
  out.order = order;
  out.order_titles = order;
  return out;
}

/// A server whose rank I has the digest I.
TreeReport with_ranks(const std::vector<ReportDigest>& digests) {
  TreeReport report;
  report.root = 1;
  ProcessGroups groups;
  report.processes.push_back(process(1, 0, "serve"));
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto pid = static_cast<std::int64_t>(i) + 2;
    NodeProcess rank = judged(process(pid, 1, "rank " + std::to_string(i)), std::nullopt, "");
    rank.facts.uid = 1000 + static_cast<std::uint32_t>(i / 2);
    const std::string container(64, i % 2 == 0 ? 'a' : 'b');
    rank.facts.rights.cgroup = Fact<std::string>::known("/docker/" + container);
    rank.group = groups.place(digests[i]);
    report.processes.push_back(std::move(rank));
  }
  std::move(groups).give_to(report);
  find_ranks(report);
  conclude(report);
  return report;
}

std::string in_one_line(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

TEST_CASE("an odd rank is named with what its rule takes and what differs, in text and JSON") {
  const ReportDigest one = takes("libcudart.so.12", {"libcudart.so.12", "stub"});
  const TreeReport report = with_ranks({one, one, one, takes("stub", {"stub", "libcudart.so.12"})});
  const std::string text = in_one_line(render_tree_text(report, {}));
  INFO(text);
  CHECK(text.find("ODD rank 3 (pid 5) differs from 3 of 4 ranks (A): ") != std::string::npos);
  CHECK(text.find("; it takes stub instead of libcudart.so.12; different: ") != std::string::npos);
  CHECK(text.find("addresses are luck: a restart may give another answer") != std::string::npos);
  const auto json = nlohmann::json::parse(render_tree_json(report));
  const auto& odd = json.at("ranks").at(0).at("odd").at(0);
  CHECK(odd.at("pids") == nlohmann::json::array({5}));
  CHECK(odd.at("group") == "B");
  CHECK(text.find(odd.at("sentence").get<std::string>()) != std::string::npos);
  CHECK_FALSE(odd.at("changes").empty());
}

TEST_CASE("of a node it is told whose the processes of a group are") {
  const ReportDigest one = takes("a", {"a"});
  TreeReport report = with_ranks({one, one, one});
  report.scope = TreeScope::node;
  const std::string text = in_one_line(render_tree_text(report, {}));
  INFO(text);
  CHECK(text.find("uid 1000 and 1 more, container aaaaaaaaaaaa and 1 more") != std::string::npos);
}

TEST_CASE("ranks that are alike are told, and so is it where none has most of them") {
  const ReportDigest one = takes("a", {"a"});
  const std::string alike = in_one_line(render_tree_text(with_ranks({one, one, one}), {}));
  INFO(alike);
  CHECK(alike.find("RANKS all 3 are alike (A): pids 2, 3, 4") != std::string::npos);
  const std::string split = in_one_line(
      render_tree_text(with_ranks({one, one, takes("b", {"b"}), takes("c", {"c"})}), {}));
  INFO(split);
  CHECK(split.find("RANKS pids 2, 3, 4, 5 are of different groups, and none has most of them") !=
        std::string::npos);
}

TEST_CASE("alike rows are folded, and those below them counted") {
  TreeReport report;
  report.root = 1;
  report.processes.push_back(process(1, 0, "serve"));
  for (std::int64_t pid = 10; pid < 90; pid += 2) {
    report.processes.push_back(process(pid, 1, "worker"));
    report.processes.push_back(process(pid + 1, pid, "helper"));
  }
  conclude(report);
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(has_line(text, "TREE     81 processes: 81 without CUDA"));
  CHECK(in_one_line(text).find("... 38 more like 10, 76 processes") != std::string::npos);
}

TEST_CASE("each state of a process has its words") {
  TreeReport report;
  report.root = 1;
  report.processes.push_back(process(1, 0, "serve"));
  for (const ProcessState state :
       {ProcessState::kernel_thread, ProcessState::gone, ProcessState::zombie, ProcessState::unread,
        ProcessState::unjudged}) {
    report.processes.push_back(process(10 + static_cast<std::int64_t>(state), 1, "x"));
    report.processes.back().state = state;
    report.processes.back().note = "why";
  }
  conclude(report);
  const std::string text = in_one_line(render_tree_text(report, {}));
  INFO(text);
  for (const char* words :
       {"kernel thread 12 x", "zombie 13 x", "ended 14 x", "NOT READ 15 x", "NOT JUDGED 16 x"}) {
    CHECK(text.find(words) != std::string::npos);
  }
}

TEST_CASE("a group tells its runtimes where there is room") {
  TreeReport report = with_rank(judged(process(2, 1, "rank"), Severity::critical, "RT04"));
  report.groups[0].digest.order_titles = {"libcudart_stub.so (shim)", "libcudart.so.12 12.8"};
  const std::string line = "    mapped: libcudart_stub.so (shim), libcudart.so.12 12.8";
  CHECK(has_line(render_tree_text(report, {}), line));
  report.notes.assign(20, "words");
  for (std::int64_t pid = 3; pid < 30; ++pid) {
    report.processes.push_back(process(pid, 1, "p" + std::string(std::size_t(pid), 'x')));
  }
  CHECK_FALSE(has_line(render_tree_text(report, {}), line));
  CHECK(has_line(render_tree_text(report, {.verbose = true}), line));
}

TEST_CASE("where nothing could be read, that is the answer, with the remedy") {
  TreeReport report;
  report.root = 7;
  for (std::int64_t pid = 7; pid < 10; ++pid) {
    report.processes.push_back(process(pid, 1, "a"));
    report.processes.back().state = ProcessState::unread;
    report.processes.back().reason = ErrorKind::permission;
    report.processes.back().note = "refused";
  }
  conclude(report);
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(tree_sentence(report) == "None of 3 processes could be read.");
  CHECK(text.find("sudo cudart-doctor tree --pid 7") != std::string::npos);
  report.scope = TreeScope::node;
  CHECK(render_tree_text(report, {}).find("sudo cudart-doctor --all") != std::string::npos);
}

TEST_CASE("of many rows those with a finding are drawn") {
  TreeReport report;
  report.root = 1;
  report.processes.push_back(process(1, 0, "serve"));
  for (std::int64_t pid = 100; pid < 200; ++pid) {
    const bool bad = pid == 188 || pid == 199;
    NodeProcess each = process(pid, 1, "p" + std::string(std::size_t(pid - 99), 'x'));
    each = bad ? judged(std::move(each), Severity::critical, "RT04")
               : judged(std::move(each), std::nullopt, "");
    each.group = 0;
    report.processes.push_back(std::move(each));
  }
  report.groups.resize(1);
  for (std::size_t i = 1; i < report.processes.size(); ++i) report.groups[0].members.push_back(i);
  report.processes.push_back(process(200, 1, "unread"));
  report.processes.back().state = ProcessState::unread;
  conclude(report);
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(has_line(text, " A  CRITICAL RT04   188 p"));
  CHECK(has_line(text, " A  CRITICAL RT04   199 p"));
  CHECK(has_line(text, "    NOT READ        200"));
  CHECK(text.find("more rows with -v") != std::string::npos);
  CHECK(has_line(text, "EXIT 1   2 critical, 2 info; 2 processes at or above --fail-on error"));
}

TEST_CASE("commands can be copied, PIDs are in order, and one zombie is one") {
  TreeReport report = with_rank(judged(process(9, 1, "rank"), Severity::critical, "RT04"));
  report.processes.push_back(process(5, 1, "z"));
  report.processes.back().state = ProcessState::zombie;
  const std::string text = render_tree_text(report, {});
  INFO(text);
  CHECK(text.find("MORE     cudart-doctor --pid 9; cudart-doctor explain RT04\n"
                  "         cudart-doctor tree --pid 1 -v\n") != std::string::npos);
  CHECK(text.find("1 zombie\n") != std::string::npos);
  CHECK(pids_words(report, {1, 2}, 4) == "pids 5, 9");
}

TEST_CASE("a process that a launcher spawned is called what it calls itself") {
  NodeProcess rank = process(2, 1, "python3");
  rank.facts.command_line = Fact<std::vector<std::string>>::known(
      {"/opt/venv/bin/python3", "-B", "-c", "from multiprocessing.spawn import spawn_main"});
  rank.facts.executable = Fact<std::string>::known("/usr/bin/python3.12");
  rank.facts.comm = "Worker_TP2";
  CHECK(process_words(rank) == "pid 2 Worker_TP2");
  rank.facts.comm = "python3";
  CHECK(process_words(rank).find("spawn_main") != std::string::npos);
  rank.facts.comm = "pt_main_thread";  // PyTorch gives it to every process that imports it.
  CHECK(process_words(rank).find("spawn_main") != std::string::npos);
  rank.facts.comm = "python3.12";
  CHECK(process_words(rank).find("spawn_main") != std::string::npos);
  rank.facts.comm = "Worker_TP2";
  rank.facts.command_line = Fact<std::vector<std::string>>::known({"vllm", "serve", "MODEL"});
  CHECK(process_words(rank) == "pid 2 vllm serve MODEL");
}

TEST_CASE("the first line names the gravest process, the last one how it ends") {
  const auto lines = lines_of(render_tree_text(crowd(TreeScope::tree), {}));
  CHECK(lines.front().starts_with("CRITICAL RT04  pid 100029 (inside: 29) rank29"));
  CHECK(std::ranges::any_of(lines, [](const auto& line) { return line.starts_with("EXIT 1"); }));
  CHECK(std::ranges::any_of(lines, [](const auto& line) { return line.starts_with("UNSEEN"); }));
}

TEST_CASE("a process with CUDA that could not be judged is not called one without") {
  TreeReport report;
  report.processes = {process(1, 0, "a"), process(2, 1, "b"), process(3, 1, "c")};
  report.processes[1].state = ProcessState::unjudged;
  report.processes[2].state = ProcessState::unread;
  conclude(report);
  CHECK(tree_sentence(report) == "1 process with CUDA could not be judged.");
}

TEST_CASE("a healthy verdict speaks of what could be read where something could not") {
  TreeReport report;
  report.processes = {process(1, 0, "a"), judged(process(2, 1, "b"), std::nullopt, "")};
  conclude(report);
  CHECK(tree_sentence(report) == "Nothing is wrong in 1 process with CUDA.");
  report.processes.push_back(process(3, 1, "c"));
  report.processes.back().state = ProcessState::unread;
  CHECK(tree_sentence(report) ==
        "Nothing is wrong in 1 process with CUDA, of what could be read: 1 could not.");
}

TEST_CASE("a line has eighty bytes at most, in each style, whatever titles are") {
  for (const ExitStyle style : {ExitStyle::standard, ExitStyle::nagios, ExitStyle::npd}) {
    TreeReport report = crowd(TreeScope::node);
    report.exit_style = style;
    const std::string line = render_tree_line(report);
    const std::string head = line.substr(0, std::min(line.find(" | "), line.size() - 1));
    INFO(line);
    CHECK(head.size() <= 80);
    CHECK(std::ranges::count(line, '\n') == 1);
    CHECK((line.find("critical=13;;;0") != std::string::npos) == (style == ExitStyle::nagios));
  }
}

TEST_CASE("metrics count processes, and have as many labels for many as for few") {
  const std::string text = render_tree_prometheus(crowd(TreeScope::tree));
  CHECK(text.find("cudart_doctor_finding_processes{code=\"RT04\",severity=\"critical\"} 13\n") !=
        std::string::npos);
  CHECK(text.find("cudart_doctor_processes{state=\"judged\"} 400\n") != std::string::npos);
  CHECK(text.find("cudart_doctor_unread_processes{reason=\"permission\"} 16\n") !=
        std::string::npos);
  CHECK(text.find("cudart_doctor_odd_ranks ") != std::string::npos);
  CHECK(lines_of(text).size() < 70);
}

TEST_CASE("the document is JSON whatever bytes titles have, and a node lists who matters") {
  for (const TreeScope scope : {TreeScope::tree, TreeScope::node}) {
    const auto document = nlohmann::json::parse(render_tree_json(crowd(scope)));
    CHECK(document["processes"].size() == (scope == TreeScope::tree ? 451U : 450U));
    CHECK(document["counts"]["processes"] == 451);
  }
}

TEST_CASE("a container is told by the last id of its cgroup") {
  const std::string id(64, 'a');
  const std::string inner = "3f2a1b9c0d4e" + std::string(52, '0');
  CHECK(container_of("/system.slice/docker-" + id + ".scope") == "aaaaaaaaaaaa");
  CHECK(container_of("/kubepods/pod1/" + id + "/" + inner) == "3f2a1b9c0d4e");
  CHECK(container_of("/user.slice/user-1000.slice").empty());
  CHECK(container_of("/" + id + "b").empty());
  CHECK(container_of("").empty());
}

}  // namespace
}  // namespace cudart_doctor
