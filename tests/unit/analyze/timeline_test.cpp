// Which library each event of a recording is of, and the story of the one that matters.
#include "cudart_doctor/analyze/timeline.hpp"

#include "cudart_doctor/analyze/judge.hpp"
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPid = 4121;
constexpr std::string_view kBringer = "/t/tilelang/lib/libtilelang.so";
constexpr std::string_view kPlain = "/usr/lib/libplain.so";

/// A library that needs another one.
SyntheticElf needing(std::string_view soname, std::string_view needed) {
  SyntheticElf out = make_plain();
  out.elf.soname = std::string(soname);
  out.elf.needed = {std::string(needed)};
  return out;
}

LoadEvent load(std::string_view path, std::int64_t milliseconds) {
  LoadEvent event;
  event.pid = kPid;
  event.nanoseconds = milliseconds * kMillisecond;
  event.path = std::string(path);
  event.cause = LoadCause::opened;
  event.requester = "/usr/bin/python3";
  return event;
}

LoadEvent needed(std::string_view path, std::string_view by, std::int64_t milliseconds) {
  LoadEvent event = load(path, milliseconds);
  event.cause = LoadCause::needed;
  event.requester = std::string(by);
  return event;
}

RecordedProcess process(std::int64_t pid) {
  RecordedProcess out;
  out.pid = pid;
  out.executable = "/usr/bin/python3";
  out.recorded = true;
  out.judged = JudgeMoment::exit;
  return out;
}

Recording recording_with(std::vector<LoadEvent> events) {
  Recording out;
  out.judged_pid = kPid;
  out.processes = {process(kPid)};
  out.events = std::move(events);
  return out;
}

/// The base namespace has all mapped objects in this order; their load bias is their address.
void link_in_order(Snapshot& snapshot, const std::vector<std::string_view>& paths) {
  LinkNamespace base;
  for (const std::string_view path : paths) {
    for (std::uint32_t i = 0; i < snapshot.objects.size(); ++i) {
      if (snapshot.objects[i].path() != path) continue;
      base.entries.push_back({snapshot.objects[i].lowest, std::string(path), i});
    }
  }
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known({base});
}

/// The events get the addresses and identities of what is mapped, where they have none.
void place(Snapshot& snapshot, Recording recording) {
  for (LoadEvent& event : recording.events) {
    for (const LoadedObject& object : snapshot.objects) {
      if (object.path() != event.path) continue;
      if (event.base == 0) event.base = object.lowest;
      if (!event.key) event.key = object.key;
    }
  }
  snapshot.recording = RecordingFact::known(std::move(recording));
}

/// TileLang's shim below a genuine runtime; FlashInfer is here and takes it.
World stub_world() {
  World world;
  world.library(kShim, shim()).library(kReal12, runtime12());
  world.library(kBringer, needing("libtilelang.so", "libcudart_stub.so"));
  world.library(kPlain, make_plain());
  world.package("flashinfer-python", "0.6.14");
  return world;
}

Report report_of(World world, Recording recording,
                 std::vector<std::string_view> order = {kPlain, kBringer, kShim, kReal12}) {
  Snapshot snapshot = world.snapshot();
  link_in_order(snapshot, order);
  place(snapshot, std::move(recording));
  return make_report(std::move(snapshot), {});
}

std::string story_of(const Report& report) {
  return report.timeline.story ? report.timeline.story->text : std::string("no story");
}

std::vector<PythonFrame> imports() {
  const std::string site(kSite);
  return {{site + "/tilelang/__init__.py", 131, "_load", "tilelang"},
          {site + "/tilelang/__init__.py", 140, "<module>", "tilelang"},
          {site + "/vllm/layers/mhc.py", 12, "<module>", "vllm.layers.mhc"},
          {"/srv/registry.py", 88, "load", "registry"},
          {"/srv/main.py", 3, "<module>", "__main__"}};
}

LoadEvent bringer_event() {
  LoadEvent event = load(kBringer, 1800);
  event.python = imports();
  return event;
}

}  // namespace

TEST_CASE("a look-alike that a consumer takes is the story, with who needed and opened it") {
  const Report report = report_of(
      stub_world(),
      recording_with({bringer_event(), needed(kShim, kBringer, 1800), load(kReal12, 2400)}));
  const Story& story = report.timeline.story.value();
  CHECK(story.reason == StoryReason::look_alike);
  CHECK(story.object == kShim);
  CHECK(story.event == 1u);
  CHECK(story.text ==
        "libcudart_stub.so was mapped 1.8 s after the start, before anybody needed a runtime: "
        "brought by libtilelang.so (DT_NEEDED), dlopened at tilelang/__init__.py:131 in _load, "
        "imported by vllm/.../mhc.py:12 <- srv/registry.py:88, called by srv/main.py:3.");
  CHECK(story.effect.find("FlashInfer 0.6.14") != std::string::npos);
}

TEST_CASE("ctypes and importlib only do what their callers ask, and are not told") {
  const PythonFrame ctypes{"/usr/lib/python3.12/ctypes/__init__.py", 379, "__init__", "ctypes"};
  const PythonFrame import{"/usr/lib/python3.12/importlib/__init__.py", 90, "import_module",
                           "importlib"};
  LoadEvent event = load(kShim, 3);
  event.python = {ctypes,
                  {"/srv/app/a.py", 1, "<module>", "a"},
                  import,
                  {"/srv/app/b.py", 2, "<module>", "__main__"}};
  CHECK(story_of(report_of(stub_world(), recording_with({event})))
            .ends_with(": dlopened at app/a.py:1, imported by app/b.py:2."));
  event.python = {ctypes};
  CHECK(story_of(report_of(stub_world(), recording_with({event})))
            .ends_with(": dlopened at ctypes/__init__.py:379 in __init__."));
}

TEST_CASE("what only starts processes, threads and programs is left out where others are left") {
  LoadEvent event = load(kShim, 3);
  event.python = {
      {"/srv/app/a.py", 1, "work", "a"},
      {"/usr/lib/python3.12/multiprocessing/process.py", 108, "run", "multiprocessing.process"},
      {"/usr/lib/python3.12/threading.py", 1032, "run", "threading"},
      {"<frozen runpy>", 88, "_run_code", "runpy"},
      {"<string>", 1, "<module>", "__main__"},
      {"/srv/app/threadings.py", 2, "go", "threadings"}};
  CHECK(story_of(report_of(stub_world(), recording_with({event})))
            .ends_with(": dlopened at app/a.py:1 in work, called by app/threadings.py:2."));
  event.python = {{"<string>", 1, "<module>", "__main__"}};
  CHECK(story_of(report_of(stub_world(), recording_with({event})))
            .ends_with(": dlopened at <string>:1."));
  event.python.insert(event.python.begin(),
                      {"/usr/lib/python3.12/ctypes/__init__.py", 379, "__init__", "ctypes"});
  CHECK(story_of(report_of(stub_world(), recording_with({event})))
            .ends_with(": dlopened at <string>:1."));
}

TEST_CASE("where another order of addresses would matter the look-alike is the story") {
  World world;
  world.library(kReal12, runtime12()).library(kShim, shim());
  world.package("flashinfer-python", "0.6.14");
  const Report report =
      report_of(world, recording_with({load(kReal12, 100), load(kShim, 200)}), {kReal12, kShim});
  REQUIRE_FALSE(report.findings.empty());
  CHECK(report.findings.front().id == "RT07");
  REQUIRE(report.timeline.story);
  CHECK(report.timeline.story->object == kShim);
}

TEST_CASE("of two copies of a runtime both are told, each with who asked") {
  constexpr std::string_view kOther = "/opt/other/lib/libcudart.so.12";
  World world;
  world.library(kReal12, runtime12()).library(kOther, runtime12());
  const Report report =
      report_of(world, recording_with({load(kReal12, 100), load(kOther, 350)}), {kReal12, kOther});
  REQUIRE_FALSE(report.findings.empty());
  REQUIRE(report.findings.front().id == "RT05");
  CHECK(story_of(report) ==
        "cuda_runtime/lib/libcudart.so.12 was mapped 100 ms after the start: dlopened by python3. "
        "The other copy, other/lib/libcudart.so.12, was mapped 250 ms later: dlopened by python3.");
}

TEST_CASE("before anybody needed a runtime is said only where all that was loaded tells") {
  struct Row {
    const char* why;
    std::function<void(World&)> change;
  };
  const Row rows[] = {
      {"an earlier object lists a runtime",
       [](World& world) {
         world.library("/usr/lib/libuser.so", needing("libuser.so", "libcudart.so.12"));
       }},
      {"an earlier object could not be read",
       [](World& world) { world.unread("/usr/lib/libuser.so", "permission denied"); }},
  };
  for (const Row& row : rows) {
    INFO(row.why);
    World world = stub_world();
    row.change(world);
    const Report report = report_of(
        world,
        recording_with({bringer_event(), needed(kShim, kBringer, 1800), load(kReal12, 2400)}),
        {"/usr/lib/libuser.so", kBringer, kShim, kReal12});
    CHECK(story_of(report).find("before anybody") == std::string::npos);
    CHECK(story_of(report).find("600 ms before libcudart.so.12, the first genuine runtime") !=
          std::string::npos);
  }
}

TEST_CASE("records that did not arrive forbid to say that nobody needed a runtime") {
  Recording recording =
      recording_with({bringer_event(), needed(kShim, kBringer, 1800), load(kReal12, 2400)});
  recording.processes[0].lost = 1;
  CHECK(story_of(report_of(stub_world(), recording)).find("before anybody") == std::string::npos);
}

TEST_CASE("what came behind a genuine runtime is told so") {
  const Report report = report_of(
      stub_world(),
      recording_with({load(kReal12, 1000), bringer_event(), needed(kShim, kBringer, 1800)}),
      {kPlain, kReal12, kBringer, kShim});
  CHECK(story_of(report).find("800 ms after libcudart.so.12, the first genuine runtime") !=
        std::string::npos);
}

TEST_CASE("the link map completes a chain that no event has") {
  struct Row {
    std::vector<PythonFrame> python;
    const char* words;
  };
  for (const Row& row : {Row{{}, ": brought by liba.so (DT_NEEDED), needed by libtilelang.so."},
                         Row{{{"/srv/app/x.py", 7, "<module>", "x"}},
                             ": brought by liba.so (DT_NEEDED), needed by libtilelang.so, dlopened "
                             "at app/x.py:7."}}) {
    World world = stub_world();
    world.library("/t/liba.so", needing("liba.so", "libcudart_stub.so"));
    world.with([](Snapshot& snapshot) {
      for (LoadedObject& object : snapshot.objects) {
        if (object.path() == kBringer) object.elf.get()->needed = {"liba.so"};
      }
    });
    LoadEvent event = needed(kShim, "/t/liba.so", 1800);
    event.python = row.python;
    const Report report =
        report_of(world, recording_with({event}), {kPlain, kBringer, "/t/liba.so", kShim, kReal12});
    INFO(story_of(report));
    CHECK(story_of(report).ends_with(row.words));
  }
}

TEST_CASE("who asked decides the words") {
  struct Row {
    LoadCause cause;
    const char* requester;
    const char* caller;
    const char* words;
  };
  const Row rows[] = {
      {LoadCause::preload, "", nullptr, ": preloaded (LD_PRELOAD or ld.so.preload)."},
      {LoadCause::unknown, "", nullptr, ": who asked for it is not known."},
      {LoadCause::needed, "/usr/bin/python3", nullptr,
       ": brought by the program itself (DT_NEEDED)."},
      {LoadCause::opened, "/usr/bin/python3", nullptr, ": dlopened by the program python3."},
      {LoadCause::opened, "/x/libhook.so", "/x/libhook.so", ": dlopened by libhook.so in init."},
  };
  for (const Row& row : rows) {
    LoadEvent event = load(kShim, 3);
    event.cause = row.cause;
    event.requester = row.requester;
    if (row.caller != nullptr) event.caller = NativeCaller{row.caller, 1, "init"};
    World world = stub_world();
    world.with([](Snapshot& snapshot) {
      snapshot.process.executable = Fact<std::string>::known("/usr/bin/python3");
    });
    const std::string text = story_of(report_of(world, recording_with({event})));
    INFO(text);
    CHECK(text.ends_with(row.words));
  }
}

TEST_CASE("a process without the recorder has the place in load order and the reason") {
  Recording recording = recording_with({});
  recording.processes[0].recorded = false;
  recording.processes[0].unrecorded = "a static program";
  CHECK(story_of(report_of(stub_world(), recording)) ==
        "libcudart_stub.so is mapped, in load order right behind libtilelang.so; who asked for it "
        "is not known: a static program.");
}

TEST_CASE("without a look-alike the first genuine runtime is the story") {
  World world;
  world.library(kReal12, runtime12());
  const Report report = report_of(world, recording_with({load(kReal12, 5)}), {kReal12});
  REQUIRE(report.timeline.story);
  CHECK(report.timeline.story->object == kReal12);
  CHECK(report.timeline.story->effect.empty());
}

TEST_CASE("an event is of the file that it loaded, also when that was unloaded") {
  LoadEvent first = load(kReal12, 1);
  first.base = 0x1000;
  LoadEvent gone = first;
  gone.kind = LoadKind::unload;
  gone.nanoseconds = 4 * kMillisecond;
  LoadEvent other = load("/gone/libcudart.so.11.0", 2);
  other.key = FileKey{1, 2, 3};
  const Report report =
      report_of(stub_world(), recording_with({first, other, gone, load(kReal12, 9)}));
  const auto& rows = report.timeline.rows;
  REQUIRE(rows.size() == 4);
  REQUIRE(rows[0].candidate);
  CHECK(report.candidates[*rows[0].candidate].path == kReal12);
  CHECK(rows[0].unloaded == 4 * kMillisecond);
  CHECK_FALSE(rows[1].candidate);
  CHECK_FALSE(rows[1].unloaded);
  CHECK(rows[3].candidate == rows[0].candidate);
  CHECK_FALSE(rows[3].unloaded);
}

TEST_CASE("another file at the same path is not the mapped one") {
  LoadEvent event = load(kReal12, 1);
  event.key = FileKey{9, 9, 999};
  event.base = 0x1000;
  const Report report = report_of(stub_world(), recording_with({event}));
  CHECK_FALSE(report.timeline.rows[0].candidate);
}

TEST_CASE("events before an exec, and those of other processes, are not the judged program's") {
  Recording recording = recording_with({load(kReal12, 1), load(kReal12, 50), load(kReal12, 60)});
  recording.events[2].pid = 5000;
  recording.processes = {process(kPid), process(kPid)};
  recording.processes[0].judged = JudgeMoment::none;
  recording.processes[0].end = ProcessEnd::replaced_by_exec;
  recording.processes[1].began = 20 * kMillisecond;
  const Report report = report_of(stub_world(), recording);
  CHECK(report.timeline.judged == 1u);
  CHECK_FALSE(report.timeline.rows[0].of_judged);
  CHECK(report.timeline.rows[1].of_judged);
  CHECK_FALSE(report.timeline.rows[2].of_judged);
}

TEST_CASE("a forked process has what its parent loaded before, at the same address") {
  LoadEvent elsewhere = load(kShim, 2);
  elsewhere.base = 0x1000;
  LoadEvent late = needed(kShim, kBringer, 90);
  Recording recording = recording_with({load(kReal12, 1), elsewhere, late});
  for (LoadEvent& event : recording.events) event.pid = 4100;
  recording.processes = {process(4100), process(kPid)};
  recording.processes[1].parent_pid = 4100;
  recording.processes[1].began = 50 * kMillisecond;
  const Report report = report_of(stub_world(), recording);
  CHECK(report.timeline.rows[0].of_judged);
  CHECK_FALSE(report.timeline.rows[1].of_judged);
  CHECK_FALSE(report.timeline.rows[2].of_judged);
}

TEST_CASE("of processes that run the same, the few that differ are odd; of two nobody is") {
  struct Row {
    std::vector<const char*> headlines;
    std::vector<bool> odd;
  };
  const Row rows[] = {
      {{"a", "a", "a", "b"}, {false, true}},
      {{"a", "b"}, {false, false}},
      {{"a", "a", "b", "b"}, {false, false}},
      {{"b", "a", "a"}, {true, false}},
  };
  for (const Row& row : rows) {
    Recording recording;
    for (std::size_t i = 0; i < row.headlines.size(); ++i) {
      RecordedProcess each = process(100 + static_cast<std::int64_t>(i));
      each.command_line = {"VLLM::Worker_TP" + std::to_string(i)};
      each.headline = row.headlines[i];
      recording.processes.push_back(each);
    }
    recording.judged_pid = 100;
    const Report report = report_of(stub_world(), recording);
    std::vector<bool> odd;
    for (const ProcessGroup& group : report.timeline.groups) odd.push_back(group.odd);
    CHECK(odd == row.odd);
  }
}

TEST_CASE("a command without a CUDA library is no finding and not undecided") {
  struct Row {
    bool recorded;
    bool traced;
    RunEnd end;
  };
  for (const Row& row : {Row{true, false, RunEnd::ok}, Row{false, true, RunEnd::ok},
                         Row{false, false, RunEnd::undecided}}) {
    Recording recording;
    RecordedProcess only;
    only.recorded = row.recorded;
    only.traced = row.traced;
    recording.processes = {only};
    Snapshot snapshot;
    snapshot.recording = RecordingFact::known(recording);
    const Report report = make_report(snapshot, {});
    CHECK(report.findings.empty());
    CHECK(report.verdict.end == row.end);
    CHECK_FALSE(report.timeline.story);
  }
}

TEST_CASE("a process that holds CUDA libraries and was not judged leaves the verdict open") {
  struct Row {
    std::int64_t copy_of;
    RunEnd end;
  };
  for (const Row& row : {Row{0, RunEnd::undecided}, Row{kPid, RunEnd::ok}}) {
    Recording recording = recording_with({load(kReal12, 5)});
    recording.processes.push_back(process(4130));
    recording.processes[1].judged = JudgeMoment::none;
    recording.processes[1].not_judged = "it was killed";
    recording.processes[1].copy_of = row.copy_of;
    World world;
    world.library(kReal12, runtime12());
    const Report report = report_of(world, recording, {kReal12});
    CHECK(report.verdict.end == row.end);
    Recording alone = recording;
    alone.judged_pid = 0;
    Snapshot nobody;
    nobody.recording = RecordingFact::known(alone);
    CHECK(make_report(nobody, {}).verdict.end == row.end);
  }
}

TEST_CASE("the recorder is no hook, in no list of the loader, and the user's own auditor stays") {
  constexpr std::string_view kRecorder = "/tmp/run-4kq9x1zz/recorder.so";
  struct Row {
    const char* audit;
    bool finding;
  };
  for (const Row& row : {Row{"/tmp/run-4kq9x1zz/recorder.so", false},
                         Row{"/own/audit.so:/tmp/run-4kq9x1zz/recorder.so", true}}) {
    World world;
    world.library(kReal12, runtime12()).unread(kRecorder, "it is gone").env("LD_AUDIT", row.audit);
    Snapshot snapshot = world.snapshot();
    link_in_order(snapshot, {kReal12});
    snapshot.link_map.get()->push_back({1, {{0x5000, std::string(kRecorder), {}}}, ""});
    Recording recording = recording_with({load(kReal12, 5)});
    recording.recorder = std::string(kRecorder);
    place(snapshot, recording);
    const Report report = make_report(std::move(snapshot), {});
    CHECK(report.verdict.undecided.empty());
    CHECK(report.snapshot.link_map.get()->size() == 1);
    const bool interposer = std::ranges::any_of(
        report.findings, [](const Finding& finding) { return finding.id == "IP08"; });
    CHECK(interposer == row.finding);
    if (row.finding) CHECK(*report.snapshot.environment.get()->find("LD_AUDIT") == "/own/audit.so");
  }
}

TEST_CASE("the recorder of a run at work is no hook for another inspection") {
  for (const auto& [audit, finding] :
       {std::pair{"/tmp/doctor-run-4kq9x1zzab/recorder.so", false},
        std::pair{"/own/audit.so:/tmp/doctor-run-4kq9x1zzab/recorder.so", true},
        std::pair{"/tmp/other/recorder.so", true}}) {
    World world;
    world.library(kReal12, runtime12()).env("LD_AUDIT", audit);
    const Report report = make_report(world.snapshot(), {});
    CHECK(std::ranges::any_of(report.findings,
                              [](const Finding& each) { return each.id == "IP08"; }) == finding);
  }
}

TEST_CASE("an order of addresses that was recorded is told with the recorder's part in it") {
  Recording recording = recording_with({load(kReal12, 1)});
  recording.recorder = "/tmp/run-4kq9x1zz/recorder.so";
  const auto told = [&](const Report& report) {
    return std::ranges::any_of(report.findings, [](const Finding& finding) {
      return finding.id == "RT07" && std::ranges::any_of(finding.evidence, [](const auto& fact) {
               return fact.find("recorder's own library") != std::string::npos;
             });
    });
  };
  CHECK(told(report_of(stub_world(), recording)));
  recording.recorder.clear();
  CHECK_FALSE(told(report_of(stub_world(), recording)));
}

TEST_CASE("durations are short at every length") {
  struct Row {
    std::int64_t nanoseconds;
    const char* text;
  };
  for (const Row& row : {Row{-5, "0.0 ms"}, Row{400'000, "0.4 ms"}, Row{999'999, "0.9 ms"},
                         Row{420 * kMillisecond, "420 ms"}, Row{1899 * kMillisecond, "1.8 s"},
                         Row{99'999 * kMillisecond, "99.9 s"}, Row{212'900 * kMillisecond, "212 s"},
                         Row{INT64_MAX, "9223372036 s"}}) {
    CHECK(duration_text(row.nanoseconds) == row.text);
  }
}

TEST_CASE("a Python file is told by its package, else by its folder") {
  Snapshot snapshot;
  snapshot.python.site_directories = {"/v/site-packages"};
  struct Row {
    const char* file;
    const char* text;
  };
  for (const Row& row :
       {Row{"/v/site-packages/six.py", "six.py"}, Row{"/v/site-packages/a/b.py", "a/b.py"},
        Row{"/v/site-packages/a/b/c.py", "a/.../c.py"}, Row{"/srv/app/run.py", "app/run.py"},
        Row{"<string>", "<string>"}, Row{"/x.py", "/x.py"},
        Row{"/v/site-packages2/a.py", "site-packages2/a.py"}}) {
    CHECK(short_python_file(snapshot, row.file) == row.text);
  }
}
