// A report in which every foreign text attacks the reader.
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "support/report_builder.hpp"
#include "support/report_parts.hpp"

namespace cudart_doctor::testing {

std::vector<std::string> nasty_texts() {
  return {std::string(4096, 'x'), "/" + std::string(4000, 'y') + "/libcudart.so.12",
          [] {
            std::string deep;
            for (int i = 0; i < 400; ++i) deep += "/directory";
            return deep + "/libcudart.so.12";
          }(),
          std::string(2000, ' ') + "/a b/libcudart.so.12 (deleted)",
          "/\x1b[31m/\x1b]0;owned\x07/libcudart.so.12", std::string("/nul\0inside", 11),
          "/line\nbreak\r\n/tab\t/libcudart.so.12", "/right-to-left \xe2\x80\xae/12.os.tradubil",
          "/not utf-8 \xff\xfe\xc0\xaf\xed\xa0\x80/libcudart.so.12",
          "/c1 \xc2\x9b"
          "31m/libcudart.so.12",
          std::string(300, '\x01'),
          "/\xe4\xbd\xa0\xe5\xa5\xbd/" +
              [] {
                std::string wide;
                for (int i = 0; i < 200; ++i) wide += "\xe4\xbd\xa0";
                return wide;
              }(),
          "\\x1b[31m \\",
          // Markup, a bar, a workflow command, and two characters that XML cannot write.
          "/</testsuite>&amp;\"'<!-- ]]>|::error::%0A {a=\"b\"} "
          "1\xef\xbf\xbe\xef\xbf\xbf/libcudart.so.12",
          ""};
}

namespace {

/// Its foreign texts are the path of the first object.
Recording hostile_recording(const Report& report, const std::string& sentence) {
  const std::string text = report.snapshot.objects.front().path();
  LoadEvent event;
  event.pid = 4121;
  event.path = text;
  event.key = report.snapshot.objects.front().key;
  event.cause = LoadCause::opened;
  event.requested = text;
  event.requester = text;
  event.caller = NativeCaller{.object = text, .symbol = text};
  event.python = {{text, 1, text, text}, {text + "2", 2, "<module>", text}};
  event.python_note = sentence;
  LoadEvent needed = event;
  needed.cause = LoadCause::needed;
  LoadEvent native = event;
  native.python.clear();
  RecordedProcess process;
  process.pid = 4121;
  process.executable = text;
  process.command_line = {text, "--api-key", text};
  process.unrecorded = sentence;
  process.judged = JudgeMoment::exit;
  process.not_judged = sentence;
  process.worst = Severity::critical;
  process.findings = {text};
  process.headline = sentence;
  process.undecided = sentence;
  Recording recording;
  recording.command = {text, text};
  recording.ready_when = text;
  recording.judged_pid = 4121;
  recording.processes = {process, process};
  recording.processes[1].pid = 4122;
  recording.events = {needed, event, native};
  recording.limits = {sentence};
  return recording;
}

}  // namespace

Report hostile_report(const std::string& text) {
  Report report = base_report();
  Snapshot& snapshot = report.snapshot;
  const std::string sentence = "seen at " + escape_foreign(text) + " and not elsewhere";
  snapshot.process.comm = text;
  snapshot.process.command_line = Fact<std::vector<std::string>>::known({text, text});
  snapshot.process.executable = Fact<std::string>::known(text);
  snapshot.process.libc = text;
  snapshot.process.namespaces = {{text, 1}};
  snapshot.host.name = text;
  snapshot.host.kernel = text;
  snapshot.host.kernel_module = Fact<std::string>::known(text);
  snapshot.environment = Fact<Environment>::known(
      {.note = sentence, .variables = {{"LD_PRELOAD", text}, {"CUDA_" + text, text}}});
  snapshot.self_notes = {sentence};
  snapshot.python.site_directories = {text};
  snapshot.python.unread_directories = {sentence};
  snapshot.capture.unread = {sentence, sentence};
  snapshot.capture.notes = {sentence};
  snapshot.maps.odd_lines = 1;
  snapshot.maps.first_odd_line = text;
  Candidate& runtime = add_runtime(report, RuntimeKind::shim, text, 0x7f1a10000000);
  runtime.label = sentence;
  runtime.package = sentence;
  runtime.soname = text;
  runtime.soname_disagrees = true;
  runtime.version = text;
  runtime.missing = {text, text};
  runtime.build_id = text;
  runtime.evidence = {sentence};
  LoadedObject& object = snapshot.objects.front();
  object.paths = {text, text + "2"};
  object.state_note = sentence;
  ElfFacts facts;
  facts.needed = {text};
  object.elf = Fact<ElfFacts>::known(facts);
  add_runtime(report, RuntimeKind::static_copy, text, 0x7f1a20000000).version = text;
  add_installed(report, text, text);
  report.provenance.resize(report.candidates.size());
  report.provenance.front() = {.load_order = 1,
                               .arrival = Arrival::preload,
                               .arrival_note = sentence,
                               .needed_by = {{0, text}},
                               .used_by = {{0, {text, text}}}};
  report.global_names = {{.name = text, .definer = 0, .version = text, .possible = {}},
                         {.name = text, .definer = {}, .version = {}, .possible = {0}}};
  Companion companion = driver(report);
  companion.path = text;
  companion.version = text;
  companion.evidence = {sentence};
  report.companions.push_back(companion);
  add_consumer(report, {.id = "vllm", .name = text, .version = text, .vintage = "vllm-legacy"});
  Selection& selection = add_selection(report, "vllm-legacy", text, 0);
  selection.error_text = sentence;
  selection.stability = Stability::order_dependent;
  selection.other_answers = {text};
  selection.steps.front().reason = sentence;
  selection.presence_note = sentence;
  report.selections.push_back(selection);
  report.selections.back().consumer.clear();
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(
      {{.id = 0, .entries = {{.name = text, .object = 0}}, .note = sentence}});
  report.headline_policy = "vllm-legacy";
  report.headline_note = sentence;
  report.findings = {{.id = "RT04",
                      .slug = "lookalike-selected",
                      .severity = Severity::critical,
                      .owner = Owner::image,
                      .headline = sentence,
                      .effect = sentence,
                      .evidence = {sentence, sentence, sentence},
                      .fixes = {sentence, sentence},
                      .no_help = {sentence},
                      .consumer = sentence}};
  report.findings.push_back(report.findings.front());
  report.verdict.worst = Severity::critical;
  report.verdict.end = RunEnd::findings;
  report.verdict.exit_code = 1;
  report.verdict.undecided = sentence;
  PeerFacts peer;
  peer.comm = text;
  peer.uid = 1;
  peer.ns_pids = {1};
  peer.namespaces = {{"pid", 1}};
  peer.visible_devices = Fact<std::string>::known(text);
  peer.found_by = sentence;
  snapshot.peers = {peer, PeerFacts{}};
  ProbeFacts& probe = snapshot.probe;
  probe.decision = ProbeDecision::run;
  probe.reason = sentence;
  probe.differences = {sentence};
  probe.gate = {.asked = true,
                .cards = {{.uuid = text, .node = text, .name = text, .compute_mode = text}},
                .cards_note = text,
                .mps = text};
  probe.devices = {{.name = text, .uuid = text, .image = text}};
  probe.driver = ProbeDriver{.path = text};
  probe.environment = {{"CUDA_" + text, text}};
  probe.mechanisms = {{.call = text, .detail = text}};
  ProbedRuntime probed;
  probed.path = text;
  probed.opened_by = text;
  probed.missing = {text};
  probed.elsewhere = {text};
  probed.stages = {
      {.stage = Stage::load, .outcome = StageOutcome::fail, .call = text, .detail = text}};
  probed.exporter.output = text;
  probed.importer.output = text;
  probe.runtimes = {probed, probed};
  probe.runtimes.back().skipped = text;
  report.probe_verdict = {.outcome = ProbeOutcome::does_not,
                          .sentence = sentence,
                          .cause = sentence,
                          .finding = text,
                          .remedy = sentence,
                          .mechanisms = {{.reason = sentence, .needed_by = sentence}}};
  snapshot.recording = RecordingFact::known(hostile_recording(report, sentence));
  report.timeline = make_timeline(report);
  return report;
}

}  // namespace cudart_doctor::testing
