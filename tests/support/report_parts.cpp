// Parts of test reports.
#include "support/report_parts.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor::testing {

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

void add_consumer(Report& report, const ConsumerRow& row) {
  Consumer& added = report.consumers.emplace_back();
  added.id = row.id;
  added.name = row.name;
  added.version = row.version;
  added.vintage = row.vintage;
  added.presence = row.version.empty() ? Presence::absent : Presence::present;
  if (row.version.empty()) return;
  added.vintage_from = "version " + row.version;
  added.signs = {row.id + "-" + row.version + ".dist-info"};
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
  snapshot.process.command_line = Fact<std::vector<std::string>>::known({"sglang::scheduler_TP0"});
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
  snapshot.environment =
      Fact<Environment>::known({.note = "",
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

}  // namespace cudart_doctor::testing
