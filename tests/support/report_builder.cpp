// Reports put together by hand.
#include "support/report_builder.hpp"

#include <utility>

#include "support/report_parts.hpp"

namespace cudart_doctor::testing {

Report critical_report() {
  Report report = base_report();
  Candidate& shim = add_runtime(report, RuntimeKind::shim, kSite + "tilelang/lib/libcudart_stub.so",
                                0x7f1a10000000);
  shim.label = "TileLang shim";
  shim.package = "tilelang 0.1.11";
  report.snapshot.owners[shim.path] =
      Fact<FileOwner>::known({PackageKind::wheel, "tilelang", "0.1.11"});
  shim.exported = 39;
  shim.names_asked = 10;
  shim.missing = {"cudaDeviceReset"};
  shim.selectable_by_name = true;
  shim.evidence = {"39 runtime functions exported, no version node"};
  add_runtime(report, RuntimeKind::genuine, kSite + "nvidia/cuda_runtime/lib/libcudart.so.12",
              0x7f1a30000000);
  const std::size_t torch =
      add_object(report, kSite + "torch/lib/libtorch_cuda.so", 0x7f1a40000000);
  ElfFacts facts;
  facts.needed = {"libcudart.so.12"};
  report.snapshot.objects[torch].elf = Fact<ElfFacts>::known(facts);
  report.provenance.resize(report.candidates.size());
  report.provenance[1].arrival = Arrival::needed;
  report.provenance[1].needed_by = {{torch, "libcudart.so.12"}};
  report.companions.push_back(driver(report));
  fill_objects(report, 412);
  add_consumer(report, {.id = "flashinfer",
                        .name = "FlashInfer",
                        .version = "0.6.14",
                        .vintage = "flashinfer-legacy"});
  add_consumer(report,
               {.id = "sglang", .name = "SGLang", .version = "0.5.9", .vintage = "sglang-2026-07"});
  add_consumer(report,
               {.id = "torch", .name = "PyTorch", .version = "2.11", .vintage = "torch-elf"});
  add_consumer(report, {.id = "vllm", .name = "vLLM"});
  Selection& flashinfer = add_selection(report, "flashinfer-legacy", "FlashInfer before #5198", 0);
  flashinfer.presence = Presence::present;
  flashinfer.presence_note = "FlashInfer 0.6.14";
  flashinfer.missing = {"cudaDeviceReset"};
  flashinfer.error_text =
      "AttributeError: " + flashinfer.chosen_text + ": undefined symbol: cudaDeviceReset";
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
  report.verdict.end = RunEnd::findings;
  report.verdict.exit_code = 1;
  return report;
}

Report allowed_report() {
  Report report = critical_report();
  report.findings.front().allowed = "--allow RT04 until 2027-01-31";
  std::swap(report.findings.front(), report.findings.back());
  report.allowances.ended = {"--allow RT07 ended 2026-01-31"};
  report.verdict.worst = Severity::warning;
  report.verdict.end = RunEnd::warned;
  report.verdict.exit_code = 0;
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
  add_consumer(report, {.id = "sglang", .name = "SGLang"});
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
  add_consumer(report,
               {.id = "vllm", .name = "vLLM", .version = "0.21.0", .vintage = "vllm-2026-07"});
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
                      .evidence = {"a fresh load of libcudart.so.13 ends in the venv"},
                      .fixes = {"drop one major from the image"},
                      .no_help = {},
                      .consumer = ""}};
  report.verdict.worst = Severity::warning;
  report.verdict.end = RunEnd::warned;
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
  snapshot.capture.unread.assign(31, "/usr/local/cuda/lib64/libcudart.so.12: permission denied");
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
  report.verdict.end = RunEnd::undecided;
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
  for (const std::string name :
       {"libcublas.so.13", "libnccl.so.2", "libcusparse.so.12", "libcudnn_graph.so.9"}) {
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
        .entries = {{.name = "", .object = {}},
                    {.name = report.candidates[1].path, .object = 1},
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

std::vector<std::pair<std::string, Report>> all_reports() {
  std::vector<std::pair<std::string, Report>> reports;
  reports.emplace_back("critical", critical_report());
  reports.emplace_back("allowed", allowed_report());
  reports.emplace_back("healthy", healthy_report());
  reports.emplace_back("environment", environment_report());
  reports.emplace_back("unreadable", unreadable_report());
  reports.emplace_back("empty", empty_report());
  reports.emplace_back("crowded", crowded_report());
  reports.emplace_back("probed", probed_report());
  reports.emplace_back("failed_probe", failed_probe_report());
  reports.emplace_back("refused_probe", refused_probe_report());
  reports.emplace_back("recorded", recorded_report());
  reports.emplace_back("nobody", nobody_report());
  reports.emplace_back("default", Report{});
  for (const auto& text : nasty_texts()) {
    reports.emplace_back("hostile_" + std::to_string(reports.size()), hostile_report(text));
  }
  return reports;
}

}  // namespace cudart_doctor::testing
