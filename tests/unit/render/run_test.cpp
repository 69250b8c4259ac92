// What the formats say of a command that was recorded.
#include <functional>

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
        "No CUDA library was loaded by this command (2 processes, 1 of them recorded).\n"
        "RUN      make -j8: exit code 0 after 12.3 s; 2 processes, 1 recorded\n"
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
       "judged right after the load that ended it; the gate ended it"},
      {[](Recording& run, RecordedProcess&) { run.stopped = true; }, "stopped after the verdict"},
      {[](Recording& run, RecordedProcess&) { run.ready = false; }, "never ready (port:8000)"},
      {[](Recording& run, RecordedProcess&) {
         run.end = ProcessEnd::signalled;
         run.status = 9;
       },
       "ended by signal 9 after 41.3 s"},
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
