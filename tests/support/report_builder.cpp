// Reports put together by hand.
#include "support/report_builder.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor::testing {
namespace {

const std::string kSite = "/opt/venv/lib/python3.12/site-packages/";

std::size_t add_object(Report& report, const std::string& path, std::uint64_t address) {
  LoadedObject object;
  object.key = {.dev_major = 0xfe, .dev_minor = 2, .inode = 1000 + report.snapshot.objects.size()};
  object.paths = {path};
  object.executable = true;
  object.lowest = address;
  object.state = FileState::same;
  object.route = ReadRoute::map_files;
  object.elf = Fact<ElfFacts>::known({});
  report.snapshot.objects.push_back(object);
  ++report.snapshot.capture.objects_read;
  return report.snapshot.objects.size() - 1;
}

Candidate& add_runtime(Report& report, RuntimeKind kind, const std::string& path,
                       std::uint64_t address) {
  Candidate candidate;
  candidate.object = add_object(report, path, address);
  candidate.path = path;
  candidate.kind = kind;
  candidate.loaded = true;
  candidate.exports_known = true;
  candidate.soname = std::string(base_name(path));
  if (kind == RuntimeKind::genuine) {
    candidate.version = "12.8";
    candidate.version_from = "constant in code";
    candidate.major = 12;
    candidate.exported = 416;
    candidate.names_asked = 10;
    candidate.selectable_by_name = true;
    candidate.evidence = {"version node libcudart.so.12", "416 runtime functions exported"};
  }
  report.candidates.push_back(candidate);
  return report.candidates.back();
}

void add_installed(Report& report, const std::string& path, const std::string& version) {
  Candidate candidate;
  candidate.path = path;
  candidate.kind = RuntimeKind::genuine;
  candidate.version = version;
  candidate.exported = 416;
  candidate.exports_known = true;
  candidate.names_asked = 10;
  report.candidates.push_back(candidate);
  report.snapshot.installed.push_back({.path = path, .found_by = "/usr/local/cuda*"});
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.key = {.dev_major = 0xfe, .dev_minor = 1, .inode = 77};
  entry.real_path = path + ".8.90";
  report.snapshot.disk[path] = entry;
}

Selection& add_selection(Report& report, const std::string& policy, const std::string& title,
                         std::size_t object) {
  Selection selection;
  selection.policy = policy;
  selection.title = title;
  selection.consumer = policy.substr(0, policy.find('-'));
  selection.vintage = "from pull 1 (2026-07)";
  selection.source = "merged text";
  selection.outcome = Outcome::selected;
  selection.object = object;
  selection.chosen_text = report.snapshot.objects[object].path();
  selection.open = OpenOutcome::old_object;
  selection.missing_known = true;
  selection.bound = 10;
  selection.steps = {{.subject = selection.chosen_text,
                      .verdict = StepVerdict::taken,
                      .reason = "first line whose file name matches"}};
  report.selections.push_back(selection);
  return report.selections.back();
}

void add_consumer(Report& report, const std::string& id, const std::string& name,
                  const std::string& version, const std::string& vintage) {
  Consumer consumer;
  consumer.id = id;
  consumer.name = name;
  consumer.version = version;
  consumer.vintage = vintage;
  consumer.presence = version.empty() ? Presence::absent : Presence::present;
  if (!version.empty()) {
    consumer.vintage_from = "version " + version;
    consumer.signs = {id + "-" + version + ".dist-info"};
  }
  report.consumers.push_back(consumer);
}

Report base_report() {
  Report report;
  Snapshot& snapshot = report.snapshot;
  snapshot.process.pid = 4121;
  snapshot.process.parent_pid = 4000;
  snapshot.process.start_ticks = 881234;
  snapshot.process.uid = 1000;
  snapshot.process.gid = 1000;
  snapshot.process.comm = "python3";
  snapshot.process.command_line =
      Fact<std::vector<std::string>>::known({"sglang::scheduler_TP0"});
  snapshot.process.executable = Fact<std::string>::known("/usr/bin/python3.12");
  snapshot.process.ns_pids = {4121, 17};
  snapshot.process.namespaces = {{"mnt", 4026532001}, {"pid", 4026532002}};
  snapshot.process.own_namespaces = {{"mnt", 4026531832}};
  snapshot.process.threads = 212;
  snapshot.process.libc = "glibc";
  snapshot.host.name = "gpu-17";
  snapshot.host.kernel = "6.8.0-60-generic";
  snapshot.host.kernel_module = Fact<std::string>::known("580.95.05");
  snapshot.capture.taken_at = "2026-09-30T03:12:45Z";
  snapshot.capture.maps_reads = 1;
  snapshot.environment = Fact<Environment>::known(
      {.note = "",
       .variables = {{"PATH", "/usr/bin"},
                     {"LD_LIBRARY_PATH", "/usr/local/nvidia/lib64"},
                     {"NVIDIA_API_KEY", "nvapi-0123"},
                     {"CUDA_VISIBLE_DEVICES", "0"}}});
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known({LinkNamespace{}});
  snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
  snapshot.python.is_python = true;
  snapshot.python.site_directories = {kSite};
  snapshot.python.chosen_by = "VIRTUAL_ENV";
  return report;
}

void fill_objects(Report& report, std::size_t total) {
  while (report.snapshot.objects.size() < total) {
    const std::size_t number = report.snapshot.objects.size();
    add_object(report, "/usr/lib/libplain" + std::to_string(number) + ".so",
               0x7f5000000000 + number * 0x100000);
  }
}

Companion driver(Report& report) {
  Companion companion;
  const std::string path = "/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05";
  companion.object = add_object(report, path, 0x7f4000000000);
  companion.path = path;
  companion.kind = CompanionKind::driver;
  companion.loaded = true;
  companion.soname = "libcuda.so.1";
  companion.version = "580.95.05";
  companion.version_from = "file name";
  return companion;
}

}  // namespace

Report critical_report() {
  Report report = base_report();
  Candidate& shim = add_runtime(report, RuntimeKind::shim,
                                kSite + "tilelang/lib/libcudart_stub.so", 0x7f1a10000000);
  shim.label = "TileLang shim";
  shim.package = "tilelang 0.1.11";
  shim.exported = 39;
  shim.names_asked = 10;
  shim.missing = {"cudaDeviceReset"};
  shim.selectable_by_name = true;
  shim.evidence = {"39 runtime functions exported, no version node"};
  add_runtime(report, RuntimeKind::genuine,
              kSite + "nvidia/cuda_runtime/lib/libcudart.so.12", 0x7f1a30000000);
  const std::size_t torch =
      add_object(report, kSite + "torch/lib/libtorch_cuda.so", 0x7f1a40000000);
  ElfFacts facts;
  facts.needed = {"libcudart.so.12"};
  report.snapshot.objects[torch].elf = Fact<ElfFacts>::known(facts);
  report.companions.push_back(driver(report));
  fill_objects(report, 412);
  add_consumer(report, "flashinfer", "FlashInfer", "0.6.14", "flashinfer-legacy");
  add_consumer(report, "sglang", "SGLang", "0.5.9", "sglang-2026-07");
  add_consumer(report, "torch", "PyTorch", "2.11", "torch-elf");
  add_consumer(report, "vllm", "vLLM", "", "");
  Selection& flashinfer = add_selection(report, "flashinfer-legacy", "FlashInfer before #5198", 0);
  flashinfer.presence = Presence::present;
  flashinfer.presence_note = "FlashInfer 0.6.14";
  flashinfer.missing = {"cudaDeviceReset"};
  flashinfer.error_text = "AttributeError: " + flashinfer.chosen_text +
                          ": undefined symbol: cudaDeviceReset";
  flashinfer.stability = Stability::order_dependent;
  flashinfer.other_answers = {report.candidates[1].path};
  Selection& sglang = add_selection(report, "sglang-2026-07", "SGLang after #30870", 1);
  sglang.presence = Presence::present;
  sglang.current = true;
  Selection& torch_rule = add_selection(report, "torch-elf", "PyTorch wheels", 1);
  torch_rule.presence = Presence::present;
  torch_rule.bound = 0;
  Selection& vllm = add_selection(report, "vllm-legacy", "vLLM before #47586", 0);
  vllm.presence = Presence::absent;
  vllm.missing = {"cudaDeviceReset"};
  report.headline_policy = "flashinfer-legacy";
  report.headline_note = "FlashInfer 0.6.14 is installed";
  report.findings = {
      {.id = "RT04",
       .slug = "lookalike-selected",
       .severity = Severity::critical,
       .owner = Owner::image,
       .headline = "FlashInfer would take TileLang's stub for the CUDA runtime.",
       .effect = "once bound: fused and custom all-reduce off until restart",
       .evidence = {"the stub is mapped below the genuine runtime and lacks cudaDeviceReset"},
       .fixes = {"tilelang >= 0.1.12, or FlashInfer with #5198", "restart all ranks"},
       .no_help = {"VLLM_CUDART_SO_PATH: not read by this consumer"},
       .consumer = "FlashInfer 0.6.14"},
      {.id = "RT07",
       .slug = "selection-order-dependent",
       .severity = Severity::warning,
       .owner = Owner::image,
       .headline = "Which runtime FlashInfer takes depends on the order of addresses.",
       .effect = "another start can give another answer",
       .evidence = {},
       .fixes = {"as for RT04"},
       .no_help = {},
       .consumer = "FlashInfer 0.6.14"}};
  report.verdict.worst = Severity::critical;
  report.verdict.exit_code = 1;
  return report;
}

Report healthy_report() {
  Report report = base_report();
  report.snapshot.process.command_line = Fact<std::vector<std::string>>::known(
      {"/usr/bin/python3", "-m", "sglang.launch_server", "--api-key", "s3cr3t", "--tp", "8"});
  add_runtime(report, RuntimeKind::genuine, "/usr/local/cuda/lib64/libcudart.so.12.8.90",
              0x7f1a30000000);
  report.companions.push_back(driver(report));
  fill_objects(report, 96);
  add_consumer(report, "sglang", "SGLang", "", "");
  Selection& sglang = add_selection(report, "sglang-2026-07", "SGLang after #30870", 0);
  sglang.current = true;
  sglang.presence = Presence::unknown;
  report.headline_policy = "sglang-2026-07";
  report.headline_note = "assumed: no consumer was found";
  return report;
}

Report environment_report() {
  Report report = base_report();
  report.snapshot.environment_only = true;
  report.snapshot.origin = SnapshotOrigin::self;
  report.snapshot.self_notes = {"libcudart.so.12, found through LD_LIBRARY_PATH entry 1"};
  add_runtime(report, RuntimeKind::genuine, "/usr/local/cuda-12.8/lib64/libcudart.so.12",
              0x7f1a30000000);
  add_installed(report, kSite + "nvidia/cu13/lib/libcudart.so.13", "13.0");
  fill_objects(report, 21);
  add_consumer(report, "vllm", "vLLM", "0.21.0", "vllm-2026-07");
  Selection& vllm = add_selection(report, "vllm-2026-07", "vLLM after #47586", 0);
  vllm.presence = Presence::present;
  vllm.current = true;
  Selection loader;
  loader.policy = "dt-needed:13";
  loader.title = "loader, libcudart.so.13";
  loader.outcome = Outcome::selected;
  loader.chosen_text = "libcudart.so.13";
  loader.disk_path = kSite + "nvidia/cu13/lib/libcudart.so.13";
  loader.open = OpenOutcome::loads;
  report.selections.push_back(loader);
  report.headline_policy = "vllm-2026-07";
  report.headline_note = "vLLM 0.21.0 is installed";
  report.findings = {{.id = "RT06",
                      .slug = "runtime-mixed-major",
                      .severity = Severity::warning,
                      .owner = Owner::image,
                      .headline = "CUDA 12 is loaded, and 13 would join it on request.",
                      .effect = "two runtimes with separate state in one process",
                      .evidence = {"a fresh load of libcudart.so.13 ends in the Python environment"},
                      .fixes = {"drop one major from the image"},
                      .no_help = {},
                      .consumer = ""}};
  report.verdict.worst = Severity::warning;
  return report;
}

Report unreadable_report() {
  Report report = base_report();
  Snapshot& snapshot = report.snapshot;
  Candidate& unknown = add_runtime(report, RuntimeKind::undetermined,
                                   "/usr/local/cuda/lib64/libcudart.so.12", 0x7f1a30000000);
  unknown.exports_known = false;
  unknown.evidence = {"only the name is known"};
  LoadedObject& object = snapshot.objects.front();
  object.elf = Fact<ElfFacts>::unknown("permission denied: needs the same user or CAP_SYS_PTRACE");
  object.state = FileState::unknown;
  object.route = ReadRoute::none;
  fill_objects(report, 31);
  snapshot.capture.objects_read = 0;
  snapshot.capture.unread.assign(
      31, "/usr/local/cuda/lib64/libcudart.so.12: permission denied");
  snapshot.capture.notes = {"run as the same user (1000) or as root to see more"};
  snapshot.environment = Fact<Environment>::unknown("permission denied");
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown("permission denied");
  snapshot.process.executable = Fact<std::string>::unknown("permission denied");
  snapshot.loader.cache = {};
  Selection& vllm = add_selection(report, "vllm-2026-07", "vLLM after #47586", 0);
  vllm.open = OpenOutcome::unknown;
  vllm.missing_known = false;
  vllm.current = true;
  report.headline_policy = "vllm-2026-07";
  report.headline_note = "assumed: no consumer was found";
  report.verdict.exit_code = 3;
  report.verdict.undecided = "the mapped libcudart.so.12 could not be read (permission denied).";
  return report;
}

Report empty_report() {
  Report report = base_report();
  report.snapshot.process.command_line = Fact<std::vector<std::string>>::known({"sleep", "60"});
  report.snapshot.python = {};
  report.snapshot.host.kernel_module = {};
  fill_objects(report, 4);
  report.snapshot.capture.not_elf = 1;
  report.snapshot.capture.objects_read = 3;
  return report;
}

Report crowded_report() {
  Report report = critical_report();
  const auto add = [&](RuntimeKind kind, const std::string& path, std::uint64_t address) {
    Candidate& candidate = add_runtime(report, kind, path, address);
    return candidate.object.value();
  };
  const std::size_t deleted =
      add(RuntimeKind::genuine, kSite + "torch/lib/libcudart-d0da41ae.so.11.0", 0x7f1a50000000);
  report.candidates.back().vendored = true;
  report.snapshot.objects[deleted].state = FileState::deleted;
  report.snapshot.objects[deleted].marked_deleted = true;
  const std::size_t replaced =
      add(RuntimeKind::genuine, "/usr/local/cuda-12.6/lib64/libcudart.so.12", 0x7f1a60000000);
  LoadedObject& changed = report.snapshot.objects[replaced];
  changed.state = FileState::replaced;
  changed.marked_deleted = true;
  changed.path_now = FileKey{.dev_major = 0xfe, .dev_minor = 2, .inode = 4711};
  changed.path_now_build_id = "85e010b7ac7b489d670f700f82c0cbb42f2ee8ea";
  changed.paths.push_back("/usr/local/cuda/lib64/libcudart.so.12");
  add(RuntimeKind::stub, kSite + "empty/libcudart.so.13", 0x7f1a70000000);
  add(RuntimeKind::not_a_runtime, "/data/libcudart/model.bin", 0x7f1a80000000);
  report.candidates.back().loaded = false;
  for (const std::string name : {"libcublas.so.13", "libnccl.so.2", "libcusparse.so.12",
                                 "libcudnn_graph.so.9"}) {
    add(RuntimeKind::static_copy, kSite + "nvidia/lib/" + name, 0x7f1a90000000);
    report.candidates.back().version = name == "libnccl.so.2" ? "12.8" : "13.0";
  }
  for (int minor = 1; minor <= 7; ++minor) {
    const std::string version = "12." + std::to_string(minor);
    add_installed(report, "/usr/local/cuda-" + version + "/lib64/libcudart.so.12", version);
  }
  Companion stub;
  stub.path = "/usr/local/cuda/lib64/stubs/libcuda.so";
  stub.kind = CompanionKind::driver_stub;
  stub.found_by = "LD_LIBRARY_PATH";
  report.companions.push_back(stub);
  report.snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(
      {{.id = 0,
        .entries = {{.name = "", .object = {}}, {.name = report.candidates[1].path, .object = 1},
                    {.name = "libcuda.so.1", .object = 3}},
        .note = "list broken after 3 entries"}});
  report.snapshot.capture.static_skipped = 37;
  report.snapshot.capture.maps_consistent = false;
  report.snapshot.maps.odd_lines = 1;
  report.snapshot.maps.first_odd_line = "what is this";
  for (int number = 1; number <= 9; ++number) {
    report.findings.push_back(report.findings[1]);
    report.findings.back().id = "MP0" + std::to_string(number);
  }
  return report;
}

std::vector<std::string> nasty_texts() {
  return {std::string(4096, 'x'),
          "/" + std::string(4000, 'y') + "/libcudart.so.12",
          [] {
            std::string deep;
            for (int i = 0; i < 400; ++i) deep += "/directory";
            return deep + "/libcudart.so.12";
          }(),
          std::string(2000, ' ') + "/a b/libcudart.so.12 (deleted)",
          "/\x1b[31m/\x1b]0;owned\x07/libcudart.so.12",
          std::string("/nul\0inside", 11),
          "/line\nbreak\r\n/tab\t/libcudart.so.12",
          "/right-to-left \xe2\x80\xae/12.os.tradubil",
          "/not utf-8 \xff\xfe\xc0\xaf\xed\xa0\x80/libcudart.so.12",
          "/c1 \xc2\x9b" "31m/libcudart.so.12",
          std::string(300, '\x01'),
          "/\xe4\xbd\xa0\xe5\xa5\xbd/" + [] {
            std::string wide;
            for (int i = 0; i < 200; ++i) wide += "\xe4\xbd\xa0";
            return wide;
          }(),
          "\\x1b[31m \\",
          ""};
}

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
  Companion companion = driver(report);
  companion.path = text;
  companion.version = text;
  companion.evidence = {sentence};
  report.companions.push_back(companion);
  add_consumer(report, "vllm", text, text, "vllm-legacy");
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
  report.verdict.exit_code = 1;
  report.verdict.undecided = sentence;
  return report;
}

std::vector<std::pair<std::string, Report>> all_reports() {
  std::vector<std::pair<std::string, Report>> reports;
  reports.emplace_back("critical", critical_report());
  reports.emplace_back("healthy", healthy_report());
  reports.emplace_back("environment", environment_report());
  reports.emplace_back("unreadable", unreadable_report());
  reports.emplace_back("empty", empty_report());
  reports.emplace_back("crowded", crowded_report());
  reports.emplace_back("default", Report{});
  for (const auto& text : nasty_texts()) {
    reports.emplace_back("hostile_" + std::to_string(reports.size()), hostile_report(text));
  }
  return reports;
}

}  // namespace cudart_doctor::testing
