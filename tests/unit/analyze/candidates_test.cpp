// Order, identity, state and owners of candidates and companions.
#include "cudart_doctor/analyze/candidates.hpp"

#include "support/catch.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kSite = "/v/lib/python3.12/site-packages";

LoadedObject make_object(std::string path, std::uint64_t lowest, const SyntheticElf& made) {
  LoadedObject object;
  object.key = {8, 1, lowest};
  object.paths = {std::move(path)};
  object.lowest = lowest;
  object.executable = true;
  object.state = FileState::same;
  object.elf = Fact<ElfFacts>::known(made.elf);
  object.content = Fact<ContentScan>::known(made.content);
  return object;
}

void install(Snapshot& snapshot, const std::string& path, std::uint64_t inode,
             const SyntheticElf& made) {
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.key = {8, 1, inode};
  entry.elf = Fact<ElfFacts>::known(made.elf);
  entry.content = Fact<ContentScan>::known(made.content);
  snapshot.disk[path] = entry;
  snapshot.installed.push_back({path, "CUDA_HOME"});
}

std::vector<std::string> paths(const std::vector<Candidate>& candidates) {
  std::vector<std::string> all;
  for (const auto& candidate : candidates) all.push_back(candidate.path);
  return all;
}

}  // namespace

TEST_CASE("mapped candidates come first by address, then installed ones by path") {
  Snapshot snapshot;
  const auto runtime = make_genuine_runtime("libcudart.so.12", "12.4");
  snapshot.objects = {
      make_object("/b/libcudart.so.12", 0x2000, runtime),
      make_object("/x/libz.so.1", 0x1800, make_plain("libz.so.1")),
      make_object("/a/libcudart_stub.so", 0x1000, make_lookalike("libcudart_stub.so"))};
  install(snapshot, "/usr/local/cuda/lib64/libcudart.so.13", 7,
          make_genuine_runtime("libcudart.so.13", "13.0"));
  install(snapshot, "/opt/cuda/libcudart.so.12", 8, runtime);
  const auto found = find_candidates(snapshot);
  CHECK(paths(found) == std::vector<std::string>{"/a/libcudart_stub.so", "/b/libcudart.so.12",
                                                 "/opt/cuda/libcudart.so.12",
                                                 "/usr/local/cuda/lib64/libcudart.so.13"});
  CHECK(found[0].object == 2);
  CHECK(found[1].loaded);
  CHECK_FALSE(found[2].object.has_value());
  CHECK_FALSE(found[2].loaded);
}

TEST_CASE("a file mapped as data only is listed and not loaded") {
  Snapshot snapshot;
  snapshot.objects = {
      make_object("/b/libcudart.so.12", 0x2000, make_genuine_runtime("libcudart.so.12", "12.4"))};
  snapshot.objects[0].executable = false;
  const auto found = find_candidates(snapshot);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == RuntimeKind::genuine);
  CHECK_FALSE(found[0].loaded);
}

TEST_CASE("an installed file that is mapped already is not listed twice") {
  Snapshot snapshot;
  const auto runtime = make_genuine_runtime("libcudart.so.12", "12.4");
  snapshot.objects = {make_object("/b/libcudart.so.12.4.127", 0x2000, runtime)};
  SECTION("same device and inode") { install(snapshot, "/b/libcudart.so", 0x2000, runtime); }
  SECTION("another device number, as overlayfs shows: same path and inode") {
    install(snapshot, "/b/libcudart.so", 0x2000, runtime);
    snapshot.disk["/b/libcudart.so"].key.dev_minor = 77;
    snapshot.disk["/b/libcudart.so"].real_path = "/b/libcudart.so.12.4.127";
  }
  CHECK(find_candidates(snapshot).size() == 1);
}

TEST_CASE("a replaced file on disk is another candidate than the loaded one") {
  Snapshot snapshot;
  const auto runtime = make_genuine_runtime("libcudart.so.12", "12.4");
  snapshot.objects = {make_object("/b/libcudart.so.12", 0x2000, runtime)};
  snapshot.objects[0].state = FileState::replaced;
  install(snapshot, "/b/libcudart.so.12", 0x3000, make_genuine_runtime("libcudart.so.12", "12.8"));
  const auto found = find_candidates(snapshot);
  REQUIRE(found.size() == 2);
  CHECK(found[0].version == "12.4");
  CHECK(found[1].version == "12.8");
}

TEST_CASE("links to one installed file are one candidate, with the version of the real name") {
  Snapshot snapshot;
  const auto runtime = make_genuine_runtime("libcudart.so.12", "12.4");
  install(snapshot, "/c/libcudart.so", 9, runtime);
  install(snapshot, "/c/libcudart.so.12", 9, runtime);
  snapshot.disk["/c/libcudart.so"].real_path = "/c/libcudart.so.12.4.127";
  const auto found = find_candidates(snapshot);
  REQUIRE(found.size() == 1);
  CHECK(found[0].path == "/c/libcudart.so");
  CHECK(found[0].version == "12.4.127");
}

TEST_CASE("an installed file that cannot be read stays in the list, an absent one does not") {
  Snapshot snapshot;
  DiskEntry entry;
  entry.kind = DiskKind::unreadable;
  entry.note = "permission denied";
  snapshot.disk["/c/libcudart.so.12"] = entry;
  entry.kind = DiskKind::absent;
  snapshot.disk["/d/libcudart.so.12"] = entry;
  snapshot.installed = {
      {"/c/libcudart.so.12", "x"}, {"/d/libcudart.so.12", "x"}, {"/e/libcudart.so.12", "x"}};
  const auto found = find_candidates(snapshot);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == RuntimeKind::undetermined);
}

TEST_CASE(
    "a mapped file with only the word in its name is listed, a directory's name is not enough") {
  Snapshot snapshot;
  snapshot.objects = {make_object("/opt/libcudart-12.4/libz.so.1", 0x1000, make_plain("libz.so.1")),
                      make_object("/x/mylibcudart.so.12", 0x2000, make_plain())};
  install(snapshot, "/y/libfoo_cudart.so", 3, make_plain());
  CHECK(paths(find_candidates(snapshot)) == std::vector<std::string>{"/x/mylibcudart.so.12"});
}

TEST_CASE("any of an object's names can make it selectable") {
  Snapshot snapshot;
  snapshot.objects = {
      make_object("/a/blob", 0x1000, make_genuine_runtime("libcudart.so.12", "12.4"))};
  CHECK_FALSE(find_candidates(snapshot)[0].selectable_by_name);
  snapshot.objects[0].paths.emplace_back("/b/libcudart.so.12");
  CHECK(find_candidates(snapshot)[0].selectable_by_name);
}

TEST_CASE("the owner is a listed distribution of the same site directory, or the toolkit") {
  struct Row {
    std::string path;
    const char* version;
    const char* owner;
  };
  const Row row = GENERATE(values<Row>({
      {kSite + "/tilelang/lib/libcudart_stub.so", "12.4", "tilelang 0.1.11"},
      {kSite + "/nvidia/cuda_runtime/lib/libcudart.so.12", "12.4",
       "nvidia-cuda-runtime-cu12 12.4.127"},
      {kSite + "/nvidia/cuda_runtime/lib/libcudart.so.11.0", "11.8",
       "nvidia-cuda-runtime-cu11 11.8.89"},
      {kSite + "/nvidia/cu13/lib/libcudart.so.13", "13.0", "nvidia-cuda-runtime 13.0.96"},
      {kSite + "/torchvision.libs/libcudart.41118559.so.12", "12.4", "torchvision 0.20"},
      {kSite + "/torch/lib/libcudart-d0da41ae.so.11.0", "11.8", "torch 2.6.0+cu118"},
      {kSite + "/unlisted/libcudart.so.12", "12.4", ""},
      {"/other/site-packages/tilelang/lib/libcudart_stub.so", "12.4", ""},
      {"/usr/local/cuda-12.6/targets/x86_64-linux/lib/libcudart.so.12", "12.6",
       "CUDA toolkit 12.6"},
      {"/usr/local/cuda-data/libcudart.so.12", "12.6", ""},
      {"/usr/lib/libcudart.so.12", "12.4", ""},
  }));
  Snapshot snapshot;
  snapshot.python.site_directories = {kSite};
  snapshot.python.distributions = {{"tilelang", "0.1.11", kSite},
                                   {"nvidia-cuda-runtime-cu12", "12.4.127", kSite},
                                   {"nvidia-cuda-runtime-cu11", "11.8.89", kSite},
                                   {"nvidia-cuda-runtime", "13.0.96", kSite},
                                   {"torchvision", "0.20", kSite},
                                   {"torch", "2.6.0+cu118", kSite}};
  snapshot.objects = {
      make_object(row.path, 0x1000, make_genuine_runtime("libcudart.so", row.version))};
  CAPTURE(row.path);
  CHECK(find_candidates(snapshot)[0].package == row.owner);
}

TEST_CASE("companions are found mapped and on disk, with the rule that reaches them") {
  Snapshot snapshot;
  snapshot.objects = {make_object("/x/stubs/libcuda.so", 0x2000, make_driver_stub(62176)),
                      make_object("/x/libz.so.1", 0x3000, make_plain("libz.so.1"))};
  install(snapshot, "/usr/lib/libcuda.so.1", 5, make_driver("550.163.01"));
  snapshot.disk["/usr/lib/libcuda.so.1"].real_path = "/usr/lib/libcuda.so.550.163.01";
  const auto found = find_companions(snapshot);
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == CompanionKind::driver_stub);
  CHECK(found[0].object == 0);
  CHECK(found[0].loaded);
  CHECK(found[1].kind == CompanionKind::driver);
  CHECK(found[1].path == "/usr/lib/libcuda.so.1");
  CHECK(found[1].version_from == "file name");
  CHECK(found[1].found_by == "CUDA_HOME");
  CHECK(find_candidates(snapshot).empty());
}
