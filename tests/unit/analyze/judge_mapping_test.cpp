// MP01-MP08: what the mappings say about files that went, changed, or only bear the name.
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kMarked = "/n/cuda_runtime/lib/libcudart.so.12 (deleted)";

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

World lost(FileState state, std::uint64_t now = 0) {
  return World().library(kMarked, runtime12()).file_is(state, now);
}

/// The link map could be read, and the loader has the first object under `name`.
void load_as(Snapshot& snapshot, const std::string& name) {
  LinkEntry entry;
  entry.name = name;
  entry.object = 0;
  LinkNamespace space;
  space.entries = {entry};
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known({space});
  snapshot.origin = SnapshotOrigin::live;
}

SyntheticElf built(std::string build_id) {
  SyntheticElf made = runtime12();
  made.elf.build_id = std::move(build_id);
  return made;
}

World in_directory() {
  return World()
      .library("/opt/libcudart-12/libcublas.so.12", make_plain("libcublas.so.12"))
      .library(kReal12, runtime12());
}

}  // namespace

TEST_CASE("MP01: deleted, critical where a rule in use opens it") {
  const World cublas = World()
                           .library("/n/lib/libcuda.so.550.1 (deleted)", make_driver("550.1"))
                           .file_is(FileState::deleted);
  check_all("MP01", {{"nobody is known", lost(FileState::deleted), "critical"},
                     {"vLLM keeps the mark", lost(FileState::deleted).package("vllm", "0.28.0"),
                      "critical"},
                     {"FlashInfer with the fix skips it",
                      lost(FileState::deleted).package("flashinfer-python", "0.7.1"), "warning"},
                     {"no consumer in the process", lost(FileState::deleted).python(), "warning"},
                     {"a CUDA library that no scan looks for", cublas, "warning"},
                     {"replaced", lost(FileState::replaced, 77), "absent"},
                     {"the file is there", World().library(kReal12, runtime12()), "absent"},
                     {"a file really so named", World().library(kMarked, runtime12()), "absent"},
                     {"from memory", lost(FileState::memory), "absent"},
                     {"a library that is none of CUDA's",
                      World()
                          .library("/x/libfoo.so (deleted)", make_plain())
                          .file_is(FileState::deleted)
                          .library(kReal12, runtime12()),
                      "absent"}});
}

TEST_CASE("MP02: replaced, critical where a rule in use opens it") {
  check_all("MP02",
            {{"nobody is known", lost(FileState::replaced, 77), "critical"},
             {"SGLang cuts the mark and opens the new file",
              lost(FileState::replaced, 77).package("sglang", "0.5.20"), "critical"},
             {"no consumer in the process", lost(FileState::replaced, 77).python(), "error"},
             {"deleted", lost(FileState::deleted), "absent"},
             {"not marked, but another file at the path",
              World().library(kReal12, runtime12()).file_is(FileState::differs, 77), "absent"},
             {"the file is there", World().library(kReal12, runtime12()), "absent"}});
  CHECK(says(find_finding(lost(FileState::replaced, 77).judge(), "MP02"),
             "Opening the path without \" (deleted)\""));
}

TEST_CASE("MP01 and MP02: a rule that gets the loaded library by its name is not harmed") {
  // SGLang cuts the mark and opens kReal12; vLLM opens the text with the mark.
  const std::string real(kReal12);
  const std::string other = "/n/torch/lib/../../cuda_runtime/lib/libcudart.so.12";
  struct Row {
    std::string_view name;
    FileState state;
    std::string_view consumer;
    std::string loaded_as;
    std::string severity;
  };
  const Row rows[] = {
      {"replaced, by this name", FileState::replaced, "sglang", real, "error"},
      {"replaced, by another name", FileState::replaced, "sglang", other, "critical"},
      {"replaced, opened with the mark", FileState::replaced, "vllm", real, "critical"},
      {"deleted, by this name", FileState::deleted, "sglang", real, "warning"},
      {"deleted, by another name", FileState::deleted, "sglang", other, "critical"},
      {"deleted, opened with the mark", FileState::deleted, "vllm", real, "critical"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const std::string id = row.state == FileState::deleted ? "MP01" : "MP02";
    const Report report = lost(row.state, row.state == FileState::replaced ? 77 : 0)
                              .package(row.consumer, row.consumer == "vllm" ? "0.28.0" : "0.5.20")
                              .with([&](Snapshot& snapshot) { load_as(snapshot, row.loaded_as); })
                              .judge();
    CHECK(severity_of(report, id) == row.severity);
    const Finding* finding = find_finding(report, id);
    const bool harmed = row.severity == "critical";
    CHECK(says(finding, "gets the loaded library") == !harmed);
    CHECK(says(finding, "would open its path") == harmed);
    CHECK(finding->consumer.empty() == !harmed);
    // Opened by this very path, the library that is loaded is what one gets.
    const bool by_path = row.loaded_as == real;
    CHECK(says(finding, "Opening the path without") ==
          (row.state == FileState::replaced && !by_path));
    if (!harmed)
      CHECK_THAT(finding->effect, ContainsSubstring("also for who opens this very path"));
  }
}

TEST_CASE("MP02: what a rule does with the new file is said as it is") {
  const auto evidence = [](std::string_view consumer, std::string_view version,
                           const std::string& loaded_as) {
    return lost(FileState::replaced, 77)
        .package(consumer, version)
        .with([&](Snapshot& snapshot) { load_as(snapshot, loaded_as); })
        .judge();
  };
  CHECK(says(find_finding(evidence("sglang", "0.5.20", "/link/libcudart.so.12"), "MP02"),
             "would open its path and map the new file as a second library"));
  CHECK(says(find_finding(evidence("vllm", "0.28.0", std::string(kReal12)), "MP02"),
             "would open its path and fail: "));
}

TEST_CASE("MP03: a runtime from memory") {
  const auto memory = [](SyntheticElf elf) {
    return World()
        .library("/memfd:libcudart.so.12 (deleted)", std::move(elf))
        .file_is(FileState::memory);
  };
  check_all("MP03", {{"a runtime", memory(runtime12()), "warning"},
                     {"another library", memory(make_plain("libfoo.so")), "absent"},
                     {"a runtime of a file", World().library(kReal12, runtime12()), "absent"}});
}

TEST_CASE("MP04: another mount namespace, an error only where a CUDA library stayed unread") {
  const auto severity = [](const World& world, std::uint64_t theirs, std::uint64_t ours) {
    Snapshot snapshot = world.snapshot();
    if (theirs != 0) snapshot.process.namespaces["mnt"] = theirs;
    if (ours != 0) snapshot.process.own_namespaces["mnt"] = ours;
    return severity_of(make_report(std::move(snapshot), {}), "MP04");
  };
  const World readable = World().library(kReal12, runtime12());
  CHECK(severity(readable, 1, 2) == "info");
  CHECK(severity(World().unread(kReal12, "Permission denied"), 1, 2) == "error");
  CHECK(severity(readable, 1, 1) == "absent");
  CHECK(severity(readable, 1, 0) == "absent");
  CHECK(severity(World().unread(kReal12, "Permission denied"), 1, 1) == "absent");
}

TEST_CASE("MP04 names both namespaces and the ways by which libraries were read") {
  const World world = World()
                          .library(kReal12, runtime12())
                          .library(kReal13, runtime13())
                          .with([](Snapshot& snapshot) {
                            snapshot.process.namespaces["mnt"] = 4026532601;
                            snapshot.process.own_namespaces["mnt"] = 4026531841;
                            snapshot.objects[0].route = ReadRoute::map_files;
                            snapshot.objects[1].route = ReadRoute::memory;
                          });
  const Report report = world.judge();
  const Finding* finding = find_finding(report, "MP04");
  CHECK(says(finding, "Mount namespace 4026532601, the doctor's 4026531841"));
  CHECK(says(finding, "Libraries read by map_files (1), their image in memory (1)"));
}

TEST_CASE("MP05: another file at the path is proven by inode and build-id together") {
  check_all("MP05",
            {{"inode and build-id differ",
              World().library(kReal12, built("aa")).file_is(FileState::differs, 77).build_now("bb"),
              "error"},
             {"another inode, the same build-id",
              World().library(kReal12, built("aa")).file_is(FileState::differs, 77).build_now("aa"),
              "info"},
             {"another inode, the build-id of today unknown",
              World().library(kReal12, built("aa")).file_is(FileState::differs, 77), "info"},
             {"the same file", World().library(kReal12, built("aa")), "absent"},
             {"marked as deleted", lost(FileState::replaced, 77).build_now("bb"), "absent"}});
}

TEST_CASE("MP05: a device number that alone differs is information at most") {
  Snapshot snapshot = World().library(kReal12, built("aa")).snapshot();
  LoadedObject& object = snapshot.objects.front();
  object.state = FileState::differs;
  object.path_now = object.key;
  object.path_now->dev_minor += 1;
  object.path_now_build_id = "bb";
  CHECK(severity_of(make_report(std::move(snapshot), {}), "MP05") == "info");
}

TEST_CASE("MP06: only the name, critical where the old scan stops at it") {
  const World last = World()
                         .library(kReal12, runtime12())
                         .library("/opt/libcudart-12/libcublas.so.12", make_plain());
  check_all(
      "MP06",
      {{"in a directory's name, first", in_directory(), "critical"},
       {"first, and the old scan is here", in_directory().package("sglang", "0.5.15"), "critical"},
       {"first, and only new rules are here", in_directory().package("sglang", "0.5.16"), "info"},
       {"first, and no consumer is here", in_directory().python(), "info"},
       {"behind the runtime", last, "info"},
       {"data only, first",
        World().data("/d/libcudart.json", make_plain()).library(kReal12, runtime12()), "critical"},
       {"a pseudo entry, first", World().pseudo("[anon:libcudart]").library(kReal12, runtime12()),
        "critical"},
       {"the runtime in such a directory",
        World().library("/opt/libcudart-12/libcudart.so.12", runtime12()), "absent"},
       {"another word", World().library("/opt/cudart/libcublas.so.12", make_plain()), "absent"},
       {"the shim: a finding of its own", World().library(kShim, shim()), "absent"}});
  CHECK(says(find_finding(in_directory().package("sglang", "0.5.15").judge(), "MP06"),
             "Unexpected filename: libcublas.so.12"));
  CHECK(says(find_finding(last.judge(), "MP06"), "the directory name libcudart-12"));
}

TEST_CASE("MP06 speaks of a real runtime only where one is loaded, and of a first remedy first") {
  const Report report = World().data("/d/libcudart_log.txt", make_plain()).judge();
  const Finding* finding = find_finding(report, "MP06");
  REQUIRE(finding != nullptr);
  CHECK(finding->effect.find("real runtime") == std::string::npos);
  CHECK_FALSE(finding->fixes.front().starts_with("Or "));
}

TEST_CASE("MP07: paths that simple tools misread") {
  check_all(
      "MP07",
      {{"blanks", World().library("/a b/libcudart.so.12", runtime12()), "info"},
       {"a backslash", World().library("/a\\b/libcudart.so.12", runtime12()), "info"},
       {"bytes that are no UTF-8", World().library("/a\xff/libcudart.so.12", runtime12()), "info"},
       {"brackets alone", World().library("/a(b)[c]/libcudart.so.12", runtime12()), "absent"},
       {"plain", World().library(kReal12, runtime12()), "absent"},
       {"blanks in the path of another library",
        World().library(kReal12, runtime12()).library("/a b/libfoo.so", make_plain()), "absent"},
       {"from memory",
        World().library("/memfd:a b (deleted)", runtime12()).file_is(FileState::memory),
        "absent"}});
}

TEST_CASE("MP08: maps that are empty, odd or moving") {
  const auto severity = [](void (*change)(Snapshot&)) {
    Snapshot snapshot = World().library(kReal12, runtime12()).snapshot();
    change(snapshot);
    return severity_of(make_report(std::move(snapshot), {}), "MP08");
  };
  CHECK(severity([](Snapshot&) {}) == "absent");
  CHECK(severity([](Snapshot& s) { s.maps.odd_lines = 1; }) == "warning");
  CHECK(severity([](Snapshot& s) { s.maps.truncated = true; }) == "warning");
  CHECK(severity([](Snapshot& s) { s.capture.maps_consistent = false; }) == "warning");
  CHECK(severity([](Snapshot& s) { s = Snapshot{}; }) == "error");
}
