// What the formats say of a command that was recorded.
#include <functional>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

/// In one line, so that where it wraps does not matter.
std::string flat(const std::string& text) {
  std::string out;
  for (const auto line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (!words.empty()) out.append(out.empty() ? "" : " ").append(words);
  }
  return out;
}

std::string verbose_of(const Report& report) {
  return flat(render_text(report, {.verbose = true}));
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a command without a CUDA library is told in four lines") {
  CHECK(render_text(nobody_report(), {}) ==
        "OK  command make -j8  node gpu-17\n"
        "No CUDA library was seen in this command (2 processes, 1 recorded): what was not\n"
        "recorded may have loaded one.\n"
        "RUN      make -j8: exit code 0 after 12.3 s\n"
        "UNSEEN   1 process not recorded, only looked at now and then: a static program\n"
        "VERDICT  no finding\n");
}

TEST_CASE("the moment of the verdict and the end of the command are told") {
  struct Row {
    std::function<void(Recording&, RecordedProcess&)> change;
    const char* words;
  };
  const Row rows[] = {
      {[](Recording&, RecordedProcess& judged) { judged.judged = JudgeMoment::exit; },
       "judged in the moment before its end"},
      {[](Recording&, RecordedProcess&) {}, "judged when ready (port:8000)"},
      {[](Recording&, RecordedProcess& judged) { judged.judged = JudgeMoment::load; },
       "judged right after its last load"},
      {[](Recording& run, RecordedProcess& judged) {
         judged.judged = JudgeMoment::load;
         run.gated = true;
       },
       "ended by the gate, judged right after this load; what is loaded later could change the "
       "verdict; ready (port:8000); running"},
      {[](Recording& run, RecordedProcess&) { run.stopped = true; },
       "stopped with the verdict, 41.3 s after its start; "},
      {[](Recording& run, RecordedProcess&) { run.ready = false; }, "never ready (port:8000)"},
      {[](Recording& run, RecordedProcess&) {
         run.end = ProcessEnd::signalled;
         run.status = 9;
       },
       "ended by signal 9 (SIGKILL) after 41.3 s"},
      {[](Recording& run, RecordedProcess&) {
         run.end = ProcessEnd::exited;
         run.status = 3;
       },
       "exit code 3 after 41.3 s"},
      {[](Recording&, RecordedProcess&) {}, "running 41.3 s after its start"},
  };
  for (const Row& row : rows) {
    Report report = recorded_report();
    Recording& recording = *report.snapshot.recording.get();
    row.change(recording, recording.processes[1]);
    INFO(row.words);
    CHECK(holds(verbose_of(report), row.words));
  }
}

TEST_CASE("a command that failed is not called well where nothing was found") {
  struct Row {
    std::function<void(Recording&)> change;
    const char* head;  ///< The first word and the third line.
    const char* line;
  };
  const Row rows[] = {
      {[](Recording& run) { run.status = 5; }, "The command failed: exit code 5 after 12.3 s.",
       "NO FINDING The command failed: exit code 5 after 12.3 s (command)\n"},
      {[](Recording& run) {
         run.end = ProcessEnd::signalled;
         run.status = 9;
       },
       "The command was ended by signal 9 (SIGKILL) after 12.3 s.",
       "NO FINDING The command was ended by signal 9 (SIGKILL) after 12.3 s (command)\n"},
      {[](Recording& run) { run.ready_when = "port:1"; },
       "The command never was ready (port:1): exit code 0 after 12.3 s.",
       "NO FINDING The command never was ready (port:1): exit code 0 after ... (command)\n"},
  };
  for (const Row& row : rows) {
    Report report = nobody_report();
    row.change(*report.snapshot.recording.get());
    INFO(row.head);
    const std::string text = render_text(report, {});
    CHECK(text.starts_with("NO FINDING  command make"));
    CHECK(holds(text, std::string("recorded may have loaded one.\n") + row.head + "\nUNSEEN "));
    CHECK(render_line(report) == row.line);
    CHECK(render_markdown(report).starts_with("## NO FINDING: "));
  }
}

TEST_CASE("the next command does not start the recorded one again") {
  const auto more = [](std::optional<std::string> folder) {
    return render_text(recorded_report(), {.recording_folder = std::move(folder)});
  };
  CHECK(holds(flat(more("")), "keep it with --record DIR, then cudart-doctor --from DIR -v"));
  CHECK(holds(more("good"), "MORE     cudart-doctor explain RT04; cudart-doctor --from good -v\n"));
  CHECK(holds(more(std::nullopt), "; add -v, or --explain-selection\n"));
}

TEST_CASE("the verdict's code is not told as the command's") {
  Report report = nobody_report();
  report.snapshot.recording.get()->status = 5;
  CHECK_FALSE(holds(render_markdown(report), "Exit 0"));
  const std::string suite = render_junit(report);
  CHECK_FALSE(holds(suite, "\"exit code\""));
  CHECK(holds(suite, "name=\"command exit code\" value=\"5\""));
  CHECK(holds(suite, "name=\"verdict\" value=\"no finding\""));
}

TEST_CASE("nothing that run refuses is advised for its own reports") {
  const Report report = make_report(recorded_report().snapshot, {});
  CHECK(report.probe_verdict.sentence == "run probes nothing; --pid PID --probe on does");
  const std::string suite = render_junit(nobody_report());
  CHECK_FALSE(holds(suite, "no mapping could be read"));
  CHECK(holds(suite, "not seen: no CUDA library was loaded by the command"));
}

TEST_CASE("what runs on behind the command is told") {
  Report report = nobody_report();
  RecordedProcess& process = report.snapshot.recording.get()->processes[1];
  process.end = ProcessEnd::running;
  process.command_line = {"sleep", "60"};
  CHECK(holds(render_text(report, {}), "STILL    pid 4101 sleep 60 runs on, no longer recorded\n"));
  process.command_line.clear();
  process.end = ProcessEnd::exited;
  CHECK(holds(verbose_of(report), "4101    (ended before its name could be read); not recorded"));
}

TEST_CASE("other processes with one conclusion are told together, the gravest first") {
  Report report = recorded_report();
  Recording& recording = *report.snapshot.recording.get();
  const auto add = [&](std::int64_t pid, const char* program, const char* finding) {
    RecordedProcess process = recording.processes[4];
    process.pid = pid;
    process.command_line = {program};
    process.findings = {finding};
    process.worst = finding == std::string("MP03") ? Severity::info : Severity::error;
    recording.processes.push_back(process);
  };
  add(4131, "router", "MP03");
  add(4132, "alpha", "RT07");
  add(4133, "beta", "RT07");
  report.timeline = make_timeline(report);
  const std::string text = verbose_of(report);
  const auto grave = text.find("ERROR RT07: pid 4132, 4133 alpha and others");
  const auto slight = text.find("INFO MP03: pid 4131 router");
  REQUIRE(grave != std::string::npos);
  REQUIRE(slight != std::string::npos);
  CHECK(grave < slight);
}

TEST_CASE("what is left of the screen is used: nothing is left out that would have had room") {
  Report report = recorded_report();
  Report longer = report;
  longer.findings.front().fixes.emplace_back("Restart all ranks once more");
  for (const Report& each : {report, longer}) {
    const std::string text = render_text(each, {});
    const std::size_t lines = split(text, '\n').size() - 1;
    CHECK(lines <= 40);
    // One item in the place of its placeholder would have cost nothing.
    const auto after = text.substr(text.find("FIX "), text.find("NO HELP") - text.find("FIX "));
    CHECK_FALSE(holds(after, "1 more with -v"));
  }
}

TEST_CASE("an error's end is told, and its path cut for it") {
  Report report = critical_report();
  Selection& taken = report.selections.front();
  taken.missing.clear();
  taken.error_text =
      "/opt/a/very/long/path/that/nobody/wants/to/read/in/a/table/of/rows/or/ever/"
      "after/site-packages/tilelang/lib/libhelper.so: undefined symbol: cudaFree";
  const std::string text = render_text(report, {});
  CHECK(holds(flat(text), "tilelang/lib/libhelper.so: undefined symbol: cudaFree"));
  CHECK(holds(verbose_of(report), taken.error_text));
}

TEST_CASE("the odd process is told before those with the same result") {
  const std::string text = verbose_of(recorded_report());
  const auto odd = text.find("unlike the others, OK: pid 4124 VLLM::Worker_TP3");
  const auto same = text.find("the same result: pid 4122, 4123");
  REQUIRE(odd != std::string::npos);
  REQUIRE(same != std::string::npos);
  CHECK(odd < same);
}

TEST_CASE("-v shows each event with its stack and its caller, and each process") {
  const std::string text = verbose_of(recorded_report());
  CHECK(holds(text, "/tilelang/__init__.py:140 in <module>"));
  CHECK(holds(text, "called from /usr/lib/python3.12/lib-dynload/_ctypes.so+0x1234 in PyInit__"));
  CHECK(holds(text, "unloaded /opt/other/libcudart.so.11.0"));
  CHECK(holds(text, "Python: its stack could not be read: Operation not permitted"));
  CHECK(holds(text, "4122    VLLM::Worker_TP1; judged: critical RT04, RT07"));
}

TEST_CASE("the report tells the story and what follows from it, whole, within a screen") {
  const std::string text = render_text(recorded_report(), {});
  CHECK(split(text, '\n').size() <= 41);
  CHECK(holds(flat(text), "models/registry.py:88. From then on FlashInfer 0.6.14 would take it"));
  for (const std::string& page :
       {render_markdown(recorded_report()), render_html(recorded_report())}) {
    CHECK(holds(page, "From then on FlashInfer 0.6.14 would take it"));
  }
}

TEST_CASE("what was not recorded is told as not seen") {
  Report report = recorded_report();
  Recording& recording = *report.snapshot.recording.get();
  recording.processes[2].lost = 2;
  recording.events_dropped = 7;
  recording.processes[3].not_judged = "it was killed";
  const std::string text = verbose_of(report);
  CHECK(holds(text, "2 records of loads did not arrive"));
  CHECK(holds(text, "7 later loads not kept"));
  CHECK(holds(text, "pid 4123 VLLM::Worker_TP2: not judged: it was killed"));
  CHECK(holds(text, "pid 4130 is a static program: its loads were not seen"));
}

TEST_CASE("no format shows a secret of a command line") {
  for (const Report& report : {recorded_report(), nobody_report()}) {
    for (const std::string& page :
         {render_text(report, {.verbose = true}), render_json(report), render_markdown(report),
          render_html(report), render_junit(report), render_line(report)}) {
      CHECK_FALSE(holds(page, "sesame"));
    }
  }
  const Snapshot kept = redacted(recorded_report().snapshot);
  CHECK(kept.recording.get()->command.back() == "[redacted]");
  CHECK(kept.recording.get()->processes[0].command_line.back() == "[redacted]");
}
