#include "cudart_doctor/base/text.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "cudart_doctor/render/render.hpp"
#include "render/describe.hpp"
#include "render/phrases.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

std::string text_of(const Report& report) { return render_text(report, {}); }

std::string verbose_text_of(const Report& report) { return render_text(report, {.verbose = true}); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  REQUIRE(lines.back().empty());  // The text ends with LF.
  lines.pop_back();
  return lines;
}

/// Columns, counted without the renderer's own arithmetic: code points, CJK ideographs twice.
std::size_t columns(std::string_view line) {
  std::size_t count = 0;
  for (const char letter : line) {
    const auto byte = static_cast<unsigned char>(letter);
    if ((byte & 0xC0U) == 0x80) continue;
    count += byte >= 0xE4 && byte <= 0xE9 ? 2 : 1;
  }
  return count;
}

/// Everything that must not reach a terminal from outside.
void check_harmless(const std::string& text) {
  CHECK(std::none_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte < 0x20 && byte != '\n') || byte == 0x7f;
  }));
  for (const std::string_view sequence : {"\xe2\x80\xae", "\xc2\x9b", "\xe2\x80\xa8"}) {
    CHECK(text.find(sequence) == std::string::npos);
  }
  // dump() refuses anything that is no UTF-8.
  CHECK_NOTHROW(nlohmann::json(text).dump());
}

bool has_line(const std::string& text, const std::string& line) {
  return text.find("\n" + line + "\n") != std::string::npos || text.starts_with(line + "\n");
}

}  // namespace

TEST_CASE("the report gives the answer, its meaning, the owner and the remedy, in this order") {
  const auto lines = lines_of(text_of(critical_report()));
  const std::vector<std::string> expected = {
      "CRITICAL RT04  pid 4121 (inside: 17) sglang::scheduler_TP0  node gpu-17",
      "FlashInfer would take TileLang's stub for the CUDA runtime.",
      "EFFECT   once bound: fused and custom all-reduce off until restart",
      "OWNER    image, not node: do not drain",
      "FIX      1 tilelang >= 0.1.12, or FlashInfer with #5198",
      "         2 restart all ranks",
      "NO HELP  VLLM_CUDART_SO_PATH: not read by this consumer",
      "",
      "RUNTIMES in address order; another start may differ (RT07)",
      " A SHIM  7f1a10000000  /opt/.../site-packages/tilelang/lib/libcudart_stub.so",
      "         TileLang shim; 9/10 names; lacks cudaDeviceReset; wheel tilelang 0.1.11",
      " B REAL  7f1a30000000  /opt/venv/lib/.../nvidia/cuda_runtime/lib/libcudart.so.12",
      "         12.8; 10/10 names; needed by libtorch_cuda.so",
      "WHO TAKES WHAT",
      " FlashInfer 0.6.14  A  FAIL undefined symbol: cudaDeviceReset [order:B]",
      " SGLang 0.5.9       B  ok",
      " PyTorch 2.11       B  ok",
      "READ     412 of 412 objects; environment as of exec; 2026-09-30T03:12:45Z",
      "EXIT 1   1 critical, 1 warning; 1 at or above --fail-on error"};
  auto position = lines.begin();
  for (const auto& line : expected) {
    INFO(line);
    position = std::find(position, lines.end(), line);
    REQUIRE(position != lines.end());
  }
  CHECK(lines.size() <= 40);
  CHECK(lines.front() == expected.front());
  CHECK(lines.back() == expected.back());
}

TEST_CASE("no line is wider than 80 columns, whatever the target shows") {
  for (const auto& [name, report] : all_reports()) {
    for (const auto& line : lines_of(text_of(report))) {
      INFO(name << ": " << line);
      CHECK(columns(line) <= 80);
    }
  }
}

TEST_CASE("foreign bytes reach no output raw") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    check_harmless(text_of(report));
    check_harmless(verbose_text_of(report));
    check_harmless(render_json(report));
  }
}

TEST_CASE("an escape is whole or not there") {
  for (const bool verbose : {false, true}) {
    std::string text = render_text(hostile_report(std::string(300, '\x01')), {.verbose = verbose});
    for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at + 1)) {
      REQUIRE(text.substr(at, 4) == "\\x01");
    }
  }
}

TEST_CASE("what foreign text can do to the length of the report is bounded") {
  for (const auto& text : nasty_texts()) {
    CHECK(lines_of(text_of(hostile_report(text))).size() < 100);
  }
}

TEST_CASE("our own words are ASCII") {
  for (const auto& report : {critical_report(), healthy_report(), environment_report(),
                             unreadable_report(), empty_report(), crowded_report()}) {
    const std::string text = verbose_text_of(report);
    CHECK(std::all_of(text.begin(), text.end(),
                      [](char letter) { return static_cast<unsigned char>(letter) < 0x80; }));
  }
}

TEST_CASE("the same report gives the same bytes") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    const Report copy = report;
    CHECK(text_of(report) == text_of(copy));
    CHECK(verbose_text_of(report) == verbose_text_of(copy));
    CHECK(render_json(report) == render_json(copy));
  }
}

TEST_CASE("colour adds SGR sequences and changes nothing else") {
  const Report report = crowded_report();
  std::string colored = render_text(report, {.color = Color::on});
  CHECK(colored.find("\x1b[1;31mCRITICAL\x1b[0m") == 0);
  CHECK_THAT(colored, ContainsSubstring(" B \x1b[32mREAL\x1b[0m  "));
  for (std::size_t at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b')) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  CHECK(colored == text_of(report));
}

TEST_CASE("a healthy process is answered by what the headline's rule takes") {
  const std::string text = text_of(healthy_report());
  CHECK(text.starts_with("OK  pid 4121 (inside: 17) python3 -m sglang.launch_server --api"));
  CHECK_THAT(text, ContainsSubstring("SGLang's current rule (assumed: no consumer was found) takes "
                                     "A, libcudart 12.8:\nit opens and has every function that "
                                     "is asked for.\n"));
  CHECK(has_line(text, "EXIT 0   no finding"));
  CHECK(text.find("s3cr3t") == std::string::npos);
}

TEST_CASE("an environment is not called a process") {
  const std::string text = text_of(environment_report());
  CHECK(has_line(text, "WARNING RT06  environment only: no program was started  node gpu-17"));
  CHECK(text.find("pid") == std::string::npos);
  CHECK(has_line(text, "LOADED   libcudart.so.12, found through LD_LIBRARY_PATH entry 1"));
  CHECK(has_line(text,
                 " B REAL  not mapped    /opt/venv/lib/.../nvidia/cu13/lib/libcudart.so.13"
                 "  13.0"));
  CHECK(has_line(text, " loader, libcudart.so.13  B  ok, loaded anew from disk"));
  CHECK(has_line(text, "EXIT 0   1 warning; none at or above --fail-on error"));
}

TEST_CASE("what could not be read is neither ok nor absent") {
  const std::string text = text_of(unreadable_report());
  CHECK(text.starts_with("UNDECIDED  pid 4121 "));
  CHECK(has_line(text, " vLLM after #47586  A  ? [assumed] whether it opens is not known"));
  CHECK(has_line(text,
                 "UNSEEN   31 objects unread; the first: "
                 "/usr/local/cuda/lib64/libcudart.so.12:"));
  CHECK(has_line(text, "         environment, load order, executable: permission denied"));
  CHECK(has_line(text, "READ     0 of 31 objects; environment unknown; 2026-09-30T03:12:45Z"));
  CHECK(has_line(text, "EXIT 3   could not decide"));
  CHECK(text_of(Report{}).find("nothing is mapped") == std::string::npos);
}

TEST_CASE("an opened library with unread symbols is not ok") {
  Report report = healthy_report();
  report.selections.front().missing_known = false;
  const std::string text = text_of(report);
  CHECK_THAT(text, ContainsSubstring("whether it is complete could not be seen"));
  CHECK(has_line(text, " SGLang after #30870  A  ? [assumed] its symbols could not be read"));
}

TEST_CASE("an allowed finding is shown as such, behind those that count, and does not lead") {
  const std::string text = text_of(allowed_report());
  CHECK(text.starts_with("WARNING RT07  "));
  CHECK(has_line(text, "ALLOW    --allow RT07 ended 2026-01-31"));
  CHECK_THAT(text, ContainsSubstring("\nALLOWED: without a say in the verdict\n"
                                     " CRITICAL RT04  FlashInfer would take"));
  CHECK(has_line(text, "         allowed: --allow RT04 until 2027-01-31"));
  CHECK(has_line(text, "EXIT 0   1 warning, 1 allowed; none at or above --fail-on error"));
  CHECK_THAT(verbose_text_of(allowed_report()), ContainsSubstring("FIX restart all ranks"));
}

TEST_CASE("a node that another finding blames is not called well") {
  Report report = critical_report();
  Finding of_node = report.findings.front();
  of_node.id = "DR10";
  of_node.owner = Owner::node;
  of_node.severity = Severity::warning;
  report.findings.push_back(of_node);
  CHECK(render_text(report, {}).find("OWNER    image, not node: do not drain") !=
        std::string::npos);
  report.findings.back().severity = Severity::error;
  CHECK(render_text(report, {}).find("OWNER    image; but DR10 is the node's: draining it") !=
        std::string::npos);
  report.findings.back().allowed = "--allow DR10";
  CHECK(render_text(report, {}).find("OWNER    image, not node: do not drain") !=
        std::string::npos);
}

TEST_CASE("the style of an exit code is named where it is not the default") {
  Report report = critical_report();
  report.verdict.exit_style = ExitStyle::nagios;
  report.verdict.exit_code = 2;
  CHECK_THAT(text_of(report), ContainsSubstring("\nEXIT 2   1 critical, 1 warning; 1 at or above"));
  CHECK_THAT(text_of(report), ContainsSubstring("--fail-on error (nagios)\n"));
}

TEST_CASE("nothing found is said, with what was searched") {
  const std::string text = text_of(empty_report());
  CHECK(
      has_line(text, "No CUDA runtime was found, under any name: nothing is mapped or installed."));
  CHECK(
      has_line(text, "RUNTIMES none; searched: 3 mapped objects by contents, the loader's cache"));
}

TEST_CASE("a finding that fails is never headed OK") {
  Report report = healthy_report();
  report.findings = critical_report().findings;
  report.findings.erase(report.findings.begin());
  report.findings.front().severity = Severity::info;
  CHECK(text_of(report).starts_with("OK  "));
  CHECK_THAT(text_of(report), ContainsSubstring("\nFINDINGS\n INFO RT07  "));
  report.verdict.fail_on = Severity::info;
  report.verdict.end = RunEnd::findings;
  report.verdict.exit_code = 1;
  CHECK(text_of(report).starts_with("INFO RT07  "));
}

TEST_CASE("an assumed rule is marked as such in its row") {
  Report report = critical_report();
  CHECK(text_of(report).find("[assumed]") == std::string::npos);
  report.selections[1].presence = Presence::unknown;
  report.headline_policy = report.selections[1].policy;
  CHECK(has_line(text_of(report), " SGLang 0.5.9       B  ok [assumed]"));
}

TEST_CASE("a mark that a consumer may not be here stands before a reason that may be cut") {
  Report report = healthy_report();
  Selection& assumed = report.selections.front();
  assumed.outcome = Outcome::none;
  assumed.object.reset();
  assumed.error_type = "AssertionError";
  assumed.error_text = std::string(400, 'x');
  CHECK_THAT(text_of(report), ContainsSubstring("FAIL [assumed]"));
  report.headline_policy = "vllm-2026-07";
  CHECK_THAT(text_of(report), ContainsSubstring("FAIL [if here]"));
}

TEST_CASE("a rule that says why it has no answer is quoted") {
  Report report = critical_report();
  Selection& unique = report.selections[1];
  unique.outcome = Outcome::none;
  unique.object.reset();
  unique.open = OpenOutcome::not_asked;
  unique.chosen_text.clear();
  CHECK(has_line(text_of(report), " SGLang 0.5.9       NONE  - no line of maps matches"));
  unique.open_note = "several real paths match: no answer";
  CHECK(
      has_line(text_of(report), " SGLang 0.5.9       NONE  - several real paths match: no answer"));
}

TEST_CASE("a file that is listed is named by its letter, by whatever path the rule reaches it") {
  Report report = environment_report();
  Selection& loader = report.selections.back();
  const std::string real = *loader.disk_path;
  const std::string link = "/opt/links/libcudart.so.13";
  loader.disk_path = link;
  CHECK(has_line(text_of(report), " loader, libcudart.so.13  file  ok, loaded anew from disk"));
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.real_path = real;
  report.snapshot.disk[link] = entry;
  CHECK(has_line(text_of(report), " loader, libcudart.so.13  B  ok, loaded anew from disk"));
  report.snapshot.disk[link].real_path.clear();
  report.snapshot.disk[link].key.inode = 9;
  report.snapshot.disk[real] = report.snapshot.disk[link];
  CHECK(has_line(text_of(report), " loader, libcudart.so.13  B  ok, loaded anew from disk"));
}

TEST_CASE("what would be mapped anew is the file on disk, not the object of its name") {
  Report report = environment_report();
  Selection& loader = report.selections.back();
  loader.object = report.candidates.front().object;
  loader.open = OpenOutcome::new_object;
  CHECK(has_line(text_of(report), " loader, libcudart.so.13  B  ok, but maps a second object"));
}

TEST_CASE("names that no snapshot records are named in the row of their profile") {
  Report report = critical_report();
  report.selections[1].unrecorded = {"ncclAllReduce", "ncclInit"};
  report.selections[1].missing_known = false;
  CHECK_THAT(text_of(report), ContainsSubstring("? not recorded, being none of CUDA's names:"));
  CHECK_THAT(text_of(report), ContainsSubstring("ncclAllReduce"));
}

TEST_CASE("where the loader finds no driver the report says so, unless the probe got one") {
  Report report = healthy_report();
  report.companions.clear();
  CHECK(text_of(report).find("none found where the loader looks") == std::string::npos);
  report.driver_absent = true;
  CHECK_THAT(text_of(report),
             ContainsSubstring("\nDRIVER   none found where the loader looks for libcuda.so.1"));
  report.snapshot.probe.driver.emplace();
  report.snapshot.probe.driver->path = "/usr/lib/libcuda.so.580.1";
  CHECK(text_of(report).find("none found where the loader looks") == std::string::npos);
}

TEST_CASE("absent consumers have no row; unknown ones only when they would fail") {
  Report report = critical_report();
  CHECK(text_of(report).find("vLLM before #47586") == std::string::npos);
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  CHECK_THAT(verbose_text_of(report), ContainsSubstring("\n vLLM before #47586  A  FAIL"));
  report.selections.back().presence = Presence::unknown;
  for (int i = 0; i < 5; ++i) report.selections.push_back(report.selections.back());
  const std::string text = text_of(report);
  CHECK_THAT(text,
             ContainsSubstring("\n vLLM before #47586  A  FAIL [if here] undefined symbol: "));
  CHECK(has_line(text, " 2 other rules with -v; 2 would fail if their consumers ran here"));
  report.selections.back().missing.clear();
  CHECK(has_line(text_of(report), " 2 other rules with -v; 1 would fail if its consumer ran here"));
}

TEST_CASE("every answer that a rule can have has its words, and the mark of the JSON report") {
  const Report base = critical_report();
  REQUIRE_FALSE(base.selections.empty());
  std::set<std::string> rows;
  for (int outcome = 0; outcome <= static_cast<int>(Outcome::not_applicable); ++outcome) {
    for (int open = 0; open <= static_cast<int>(OpenOutcome::unknown); ++open) {
      for (int kind = 0; kind <= static_cast<int>(RuntimeKind::undetermined); ++kind) {
        Report report = base;
        for (Candidate& candidate : report.candidates) {
          candidate.kind = static_cast<RuntimeKind>(kind);
        }
        Selection& selection = report.selections.front();
        selection.outcome = static_cast<Outcome>(outcome);
        selection.open = static_cast<OpenOutcome>(open);
        selection.error_text.clear();
        selection.open_note.clear();
        selection.missing.clear();
        const AnswerRow row = answer_row(report, selection, candidate_refs(report));
        INFO(outcome << " " << open << " " << kind << ": " << row.result << row.why);
        rows.insert(row.result + row.why);
        const std::string_view result = name_of(result_of(selection));
        CHECK((row.result == "FAIL") == (result == "fails"));
        CHECK((row.result == "?") == (result == "unproven"));
        CHECK((row.result == "-") == (result == "nothing"));
        CHECK((row.result == "ok" || row.result == "opens") == (result == "ok"));
        CHECK((row.result == "ok" || row.why.size() > 3));
      }
    }
  }
  CHECK(rows.size() > 12);
}

TEST_CASE("a loader rule has a row only when it ends somewhere else") {
  Report report = healthy_report();
  Selection loader = report.selections.front();
  loader.policy = "dlopen:libcudart.so.12";
  loader.title = "dlopen of libcudart.so.12";
  loader.consumer.clear();
  report.selections.push_back(loader);
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  report.selections.back().outcome = Outcome::not_found;
  report.selections.back().error_text = "cannot open shared object file";
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  report.selections.back() = loader;
  report.selections.back().open = OpenOutcome::fails;
  CHECK_THAT(text_of(report), ContainsSubstring("\n dlopen of libcudart.so.12  A  FAIL "));
}

TEST_CASE("a preload has a row only where it brings another runtime") {
  Report report = healthy_report();
  Selection preload = report.selections.front();
  preload.policy = "flashinfer-jit-preload";
  preload.title = "FlashInfer JIT preload";
  preload.presence = Presence::present;
  preload.preload = true;
  report.selections.push_back(preload);
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  Selection& added = report.selections.back();
  added.object.reset();
  added.disk_path = "/usr/local/cuda/lib64/libcudart.so.12";
  added.open = OpenOutcome::loads;
  CHECK(has_line(text_of(report),
                 " FlashInfer JIT preload  file  ok, loaded anew from disk, a preload"));
  added.outcome = Outcome::none;
  added.disk_path.reset();
  added.open = OpenOutcome::not_asked;
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  CHECK_THAT(verbose_text_of(report),
             ContainsSubstring("\n FlashInfer JIT preload  NONE  - opens nothing\n"));
}

TEST_CASE("a rule that asks for the version only has a row only where it ends somewhere else") {
  Report report = healthy_report();
  Selection version = report.selections.front();
  version.policy = "cuda-pathfinder";
  version.title = "cuda-pathfinder 1.8+";
  version.consumer = "cuda-pathfinder";
  version.presence = Presence::present;
  version.bound = 1;
  report.selections.push_back(version);
  CHECK(has_line(text_of(report), " 1 other rule with -v"));
  // One name of the user's own is what was asked for.
  report.selections.back().policy = "profile:one";
  report.selections.back().title = "My name";
  report.selections.back().consumer.clear();
  CHECK_THAT(text_of(report), ContainsSubstring("\n My name  "));
}

TEST_CASE("deleted, replaced and static runtimes and those on disk are told apart") {
  Report report = crowded_report();
  const std::string crowded = text_of(report);
  CHECK(crowded.find(" more findings with -v\n") != std::string::npos);
  CHECK_THAT(crowded, ContainsSubstring("DELETED: its file is gone; 12.8"));
  // With little else to say there is room for all of them.
  report.findings.clear();
  const std::string text = text_of(report);
  CHECK_THAT(text, ContainsSubstring("DELETED: its file is gone; 12.8"));
  CHECK_THAT(text, ContainsSubstring("REPLACED: another file is at the path now"));
  CHECK_THAT(text, ContainsSubstring(" F NAME  7f1a80000000  /data/libcudart/model.bin\n"
                                     "         mapped as data, not loaded\n"));
  CHECK_THAT(text, ContainsSubstring(" E STUB  "));
  CHECK(text.find(" more installed, not mapped: -v\n") != std::string::npos);
  CHECK_THAT(text, ContainsSubstring(" 4 static copies (12.8, 13.0) in libcublas.so.13, "
                                     "libnccl.so.2,\n   libcusparse.so.12 and 1 more: private, "
                                     "not selectable\n"));
  // Two mapped runtimes share the soname: only the one that it leads to has the user.
  const std::size_t user = text.find("needed by libtorch_cuda.so");
  REQUIRE(user != std::string::npos);
  CHECK(text.find("needed by", user + 1) == std::string::npos);
  CHECK(has_line(text, "         static runtimes in 37 other objects: not searched (--deep)"));
}

TEST_CASE("verbose shows whole paths, evidence and the steps of every rule") {
  const std::string text = verbose_text_of(critical_report());
  CHECK_THAT(text, ContainsSubstring(
                       " A SHIM  7f1a10000000\n         "
                       "/opt/venv/lib/python3.12/site-packages/tilelang/lib/libcudart_stub.so\n"));
  CHECK_THAT(text, ContainsSubstring("         - version node libcudart.so.12\n"));
  CHECK_THAT(text, ContainsSubstring("first line whose file name matches"));
  CHECK_THAT(text, ContainsSubstring(" => prints    AttributeError:\n"));
}

TEST_CASE("a probe that passed is one line and who needs which way to share memory") {
  const std::string text = text_of(probed_report());
  CHECK(has_line(text, "PROBE    works: mHC kernels and CUDA IPC, on GPU 0 (NVIDIA H200)"));
  CHECK(has_line(text,
                 "SHARING  ok            CUDA IPC memory handle: custom all-reduce of vLLM and"));
  CHECK(has_line(text, "                       SGLang"));
  CHECK(text.find("fabric") == std::string::npos);
}

TEST_CASE("a probe that failed shows the stage, the side, the code with its name and the output") {
  const std::string text = text_of(failed_probe_report());
  CHECK(has_line(text, "PROBE    does not work: CUDA IPC import failed"));
  CHECK(has_line(text, "         fix: share the PID namespace"));
  CHECK(has_line(text, " A FAIL  ipc_import (importer) GPU 0; cudaIpcOpenMemHandle: 201"));
  CHECK(text.find("cudaErrorDeviceUninitialized") != std::string::npos);
  CHECK(text.find("last line") != std::string::npos);
}

TEST_CASE("a probe that was not run says how to ask for it, and nothing of sharing") {
  const std::string text = text_of(refused_probe_report());
  CHECK(has_line(text, "PROBE    not run on a live GPU; to allow it: --probe on"));
  CHECK(text.find("SHARING") == std::string::npos);
}

TEST_CASE("a verbose report names every stage of a probe and what each mechanism did") {
  const std::string text = verbose_text_of(probed_report());
  for (const char* const word : {"load", "kernels", "ipc_export", "ipc_import", "ipc_verify"}) {
    INFO(word);
    CHECK(text.find(word) != std::string::npos);
  }
  CHECK(text.find("fabric handle; refused: 800") != std::string::npos);
}

TEST_CASE("a peer that was compared is named, and what speaks against it") {
  Report report = healthy_report();
  report.snapshot.process.uid = 0;
  PeerFacts peer;
  peer.pid = 4188;
  peer.comm = "python";
  peer.uid = 1000;
  report.snapshot.peers = {peer};
  CHECK(text_of(report).find("PID 4188 python: PID namespace or device nodes could not be") !=
        std::string::npos);
  peer.ns_pids = report.snapshot.process.ns_pids = {4188};
  peer.namespaces = report.snapshot.process.namespaces = {{"pid", 1}};
  peer.rights.device_nodes = Fact<std::vector<DeviceNode>>::known({});
  report.snapshot.process.rights.device_nodes = peer.rights.device_nodes;
  report.snapshot.peers = {peer};
  const std::string text = text_of(report);
  CHECK(text.find("PEER     PID 4188 python: PID namespace and device nodes forbid no sharing") !=
        std::string::npos);
  CHECK(text.find("another user") != std::string::npos);
  Finding finding;
  finding.id = "IP02";
  finding.severity = Severity::error;
  report.findings = {finding};
  CHECK(text_of(report).find("PEER     PID 4188 python: see the findings") != std::string::npos);
}

TEST_CASE("a refused probe is told at the head") {
  const auto lines = lines_of(text_of(refused_probe_report()));
  const auto place = std::find(lines.begin(), lines.end(), "Not tested on a GPU: see PROBE below.");
  CHECK(place - lines.begin() < 5);
}

TEST_CASE("the first line has the rank, both PIDs, the node and the card") {
  Report report = critical_report();
  report.snapshot.process.command_line = Fact<std::vector<std::string>>::known({"sglang::TP0"});
  report.snapshot.process.ns_pids = {4121, 77};
  CardUse other;
  other.uuid = "GPU-0b1c2d3e-1";
  other.users = {17};
  CardUse own;
  own.uuid = "GPU-cc1d84a2-2";
  own.users = {4121, 17};
  report.snapshot.probe.gate.cards = {other, own};
  CHECK(lines_of(text_of(report)).front() ==
        "CRITICAL RT04  pid 4121 (inside: 77) sglang::TP0  node gpu-17  GPU-cc1d84a2");
}

TEST_CASE("what does not fit the first line stands on the second") {
  Report report = critical_report();
  report.snapshot.process.ns_pids = {4121, 77};
  for (const char* const uuid :
       {"GPU-00000001-a", "GPU-00000002-a", "GPU-00000003-a", "GPU-00000004-a"}) {
    report.snapshot.probe.devices.emplace_back().uuid = uuid;
  }
  const auto lines = lines_of(text_of(report));
  CHECK(lines[0] == "CRITICAL RT04  pid 4121 (inside: 77) sglang::scheduler_TP0");
  CHECK(lines[1] == "         node gpu-17; GPU-00000001, GPU-00000002, GPU-00000003 and 1 more");
  CHECK_THAT(verbose_text_of(report), ContainsSubstring("GPU-00000004-a"));
}

TEST_CASE("a PID is told once where there is no namespace, and numbers are no cards") {
  Report report = critical_report();
  report.snapshot.process.ns_pids = {4121};
  Environment environment;
  environment.variables = {{"CUDA_VISIBLE_DEVICES", "0,1"}};
  report.snapshot.environment = Fact<Environment>::known(environment);
  CHECK(lines_of(text_of(report)).front() ==
        "CRITICAL RT04  pid 4121 sglang::scheduler_TP0  node gpu-17");
  environment.variables = {{"CUDA_VISIBLE_DEVICES", "GPU-cc1d84a2-2, 1"}};
  report.snapshot.environment = Fact<Environment>::known(environment);
  CHECK_THAT(text_of(report), ContainsSubstring("  node gpu-17  GPU-cc1d84a2\n"));
}

TEST_CASE("a look-alike that opens and is complete is not called ok") {
  Report report = critical_report();
  report.selections.front().missing.clear();
  report.selections.front().error_text.clear();
  CHECK(has_line(text_of(report),
                 " FlashInfer 0.6.14  A  opens, but it is no CUDA runtime (shim) [order:B]"));
}

TEST_CASE("a driver that only the probe loaded is listed") {
  Report report = probed_report();
  report.snapshot.probe.driver = ProbeDriver{"/usr/lib/libcuda.so.580.1", {}, 13000};
  CHECK_THAT(text_of(report),
             ContainsSubstring("libcuda.so.580.1 for CUDA 13.0, loaded by the probe, not mapped"));
}

TEST_CASE("a remedy that stands further up is not told twice") {
  Report report = critical_report();
  report.findings.back().fixes = report.findings.front().fixes;
  CHECK(has_line(text_of(report), "         FIX as for RT04"));
}

TEST_CASE("a selection is explained step by step, with what was not reached and another order") {
  const Report report = critical_report();
  const std::string text = render_text(report, {.explain_selection = std::string(kHeadlineRule)});
  CHECK_THAT(text, ContainsSubstring("\nHOW FlashInfer 0.6.14 CHOOSES (rule "));
  CHECK_THAT(text, ContainsSubstring("\n1   taken     A, "));
  CHECK_THAT(text, ContainsSubstring("\n    not seen  B, "));
  CHECK_THAT(text, ContainsSubstring("\n => lacks     cudaDeviceReset, of "));
  CHECK_THAT(text, ContainsSubstring("\n => unstable  another order of addresses gives B,\n"));
  CHECK(text.find("CHOOSES") == text.rfind("CHOOSES"));
  CHECK(text_of(report).find("CHOOSES") == std::string::npos);
}

TEST_CASE("the rule of the leading finding is explained, not that of the headline's choice") {
  Report report = critical_report();
  report.headline_policy = "sglang-2026-07";
  const auto explained = [&report] {
    return render_text(report, {.explain_selection = std::string(kHeadlineRule)});
  };
  CHECK_THAT(explained(), ContainsSubstring("\nHOW SGLang 0.5.9 CHOOSES"));
  report.findings.front().policy = "flashinfer-legacy";
  CHECK_THAT(explained(), ContainsSubstring("\nHOW FlashInfer 0.6.14 CHOOSES"));
  report.findings.front().allowed = "--allow RT04";
  CHECK_THAT(explained(), ContainsSubstring("\nHOW SGLang 0.5.9 CHOOSES"));
}

TEST_CASE("one rule or all of them are explained as asked") {
  const Report report = critical_report();
  const auto sections = [&](std::string_view rule) {
    const std::string text = render_text(report, {.explain_selection = std::string(rule)});
    const auto lines = lines_of(text);
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.starts_with("HOW "); });
  };
  CHECK(sections(report.selections.back().policy) == 1);
  CHECK(sections(kEveryRule) == std::ssize(report.selections));
  CHECK(sections("no-such-rule") == 1);  // It says that there is none.
}

TEST_CASE("a long list of steps loses its middle, counted, unless verbose") {
  Report report = healthy_report();
  auto& steps = report.selections.front().steps;
  steps.assign(40, {"/usr/lib/libcudart.so", StepVerdict::rejected, "not there"});
  const TextOptions options{.explain_selection = std::string(kHeadlineRule)};
  const std::string text = render_text(report, options);
  CHECK(has_line(text, "    ...       31 more steps, all with -v"));
  CHECK(has_line(text, "6   rejected  /usr/lib/libcudart.so: not there"));
  CHECK_FALSE(has_line(text, "7   rejected  /usr/lib/libcudart.so: not there"));
  CHECK(has_line(text, "38  rejected  /usr/lib/libcudart.so: not there"));
  CHECK(has_line(verbose_text_of(report), "20  rejected  /usr/lib/libcudart.so: not there"));
}

TEST_CASE("no line is wider than a narrow terminal") {
  for (const auto& [name, report] : all_reports()) {
    const std::string text = render_text(
        report, {.columns = kFewestColumns, .explain_selection = std::string(kEveryRule)});
    for (const auto& line : lines_of(text)) {
      INFO(name << ": " << line);
      CHECK(columns(line) <= kFewestColumns);
    }
  }
}
