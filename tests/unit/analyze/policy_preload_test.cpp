// Preloads for the global scope, static copies, and PyTorch's glob.
#include <algorithm>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kSite = "/v/lib/python3.12/site-packages";
const std::string kToolkit = "/usr/local/cuda/targets/x86_64-linux/lib/";

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

std::vector<DiskRequest> wanted(const Snapshot& snapshot, std::string_view id) {
  return find_policy(id)->wanted(snapshot);
}

ElfFacts runtime(std::string_view soname = "libcudart.so.12") {
  return make_genuine_runtime(soname, "12.8").elf;
}

Snapshot with_packages(Snapshot snapshot, std::vector<std::pair<std::string, std::string>> list) {
  snapshot.python.is_python = true;
  snapshot.python.site_directories = {kSite};
  for (auto& [name, version] : list) {
    snapshot.python.distributions.push_back({std::move(name), std::move(version), kSite});
  }
  return snapshot;
}

DiskEntry folder(std::vector<std::string> names) {
  DiskEntry entry = directory();
  entry.names = std::move(names);
  return entry;
}

bool has_step(const Selection& selection, std::string_view subject, std::string_view reason) {
  return std::any_of(selection.steps.begin(), selection.steps.end(), [&](const Step& step) {
    return step.subject == subject && step.reason.find(reason) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("without its package a preload wants nothing of the disk and does not apply") {
  const Snapshot snapshot = with_packages(SnapshotBuilder(MapsText()).empty_env().build(), {});
  for (const char* id :
       {"flashinfer-jit-preload", "sglang-kernel-preload", "sglang-kernel-preload-12",
        "sglang-kernel-preload-lib", "sglang-kernel-preload-fixed", "torch-preload",
        "torch-preload-legacy", "cuda-pathfinder", "cuda-pathfinder-1.5", "cuda-pathfinder-1.2",
        "cuda-pathfinder-1.0"}) {
    INFO(id);
    CHECK(wanted(snapshot, id).empty());
    CHECK(decide(snapshot, id).outcome == Outcome::not_applicable);
  }
}

TEST_CASE("FlashInfer's preload opens 12 of CUDA_LIB_PATH, else of the toolkit, whatever is used") {
  SnapshotBuilder builder(MapsText{});
  builder.empty_env();
  const auto flashinfer = [](const SnapshotBuilder& built) {
    return with_packages(built.build(),
                         {{"flashinfer-python", "0.7.4"}, {"torch", "2.11.0+cu130"}});
  };
  const Selection silent = decide(flashinfer(builder), "flashinfer-jit-preload");
  CHECK(silent.outcome == Outcome::none);
  CHECK(silent.error_text.empty());

  builder.disk(kToolkit + "/libcudart.so.12", elf_file(7, runtime()));
  const Selection taken = decide(flashinfer(builder), "flashinfer-jit-preload");
  CHECK(taken.outcome == Outcome::selected);
  CHECK(taken.open == OpenOutcome::loads);
  CHECK(taken.chosen_text == kToolkit + "/libcudart.so.12");
  CHECK(taken.open_note.find("changes who wins in the global scope") != std::string::npos);

  builder.env("CUDA_LIB_PATH", "/opt/c").disk("/opt/c/libcudart.so.12", elf_file(8, runtime()));
  CHECK(decide(flashinfer(builder), "flashinfer-jit-preload").chosen_text ==
        "/opt/c/libcudart.so.12");
}

TEST_CASE("FlashInfer's preload is open where the environment is not known") {
  const Snapshot snapshot =
      with_packages(SnapshotBuilder(MapsText{}).live().build(), {{"flashinfer-python", "0.7.4"}});
  CHECK(decide(snapshot, "flashinfer-jit-preload").outcome == Outcome::undetermined);
}

TEST_CASE("sglang-kernel: an earlier folder with 12 beats a later one with PyTorch's 13") {
  SnapshotBuilder builder(MapsText{});
  builder.env("CUDA_HOME", "/c")
      .disk("/c/lib64/libcudart.so.12", elf_file(1, runtime()))
      .disk("/usr/lib64/libcudart.so.13", elf_file(2, runtime("libcudart.so.13")));
  const Snapshot snapshot =
      with_packages(builder.build(), {{"sglang-kernel", "0.4.10"}, {"torch", "2.11.0+cu130"}});
  CHECK(decide(snapshot, "sglang-kernel-preload").chosen_text == "/c/lib64/libcudart.so.12");
}

TEST_CASE("sglang-kernel: what it opens, by what is there") {
  struct Row {
    const char* name;
    std::vector<std::string> files;
    const char* torch;
    const char* present;
    const char* twelve;
    const char* lib;
    const char* fixed;
  };
  const std::string target = kToolkit + "libcudart.so.12";
  const Row rows[] = {
      {"nothing", {}, "2.11.0+cu130", "", "", "?", ""},
      {"PyTorch's major first",
       {"/c/lib64/libcudart.so.12", "/c/lib64/libcudart.so.13"},
       "2.9.0+cu126",
       "/c/lib64/libcudart.so.12",
       "/c/lib64/libcudart.so.12",
       "/c/lib64/libcudart.so.12",
       ""},
      {"the other order",
       {"/c/lib64/libcudart.so.12", "/c/lib64/libcudart.so.13"},
       "2.11.0+cu130",
       "/c/lib64/libcudart.so.13",
       "/c/lib64/libcudart.so.12",
       "/c/lib64/libcudart.so.12",
       ""},
      {"lib before lib64",
       {"/c/lib/libcudart.so.12", "/c/lib64/libcudart.so.13"},
       "2.11.0+cu130",
       "/c/lib/libcudart.so.12",
       "/c/lib/libcudart.so.12",
       "/c/lib/libcudart.so.12",
       ""},
      {"13 only",
       {"/c/lib64/libcudart.so.13"},
       "2.11.0+cu130",
       "/c/lib64/libcudart.so.13",
       "",
       "",
       ""},
      {"the system's",
       {"/usr/lib/libcudart.so.12"},
       "2.11.0+cu130",
       "/usr/lib/libcudart.so.12",
       "/usr/lib/libcudart.so.12",
       "?",
       ""},
      {"the fixed file", {target}, "2.11.0+cu130", "", "", "?", target.c_str()},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    SnapshotBuilder builder(MapsText{});
    builder.env("CUDA_HOME", "/c").env("CUDA_PATH", "/other");
    std::uint64_t inode = 10;
    for (const std::string& file : row.files) {
      builder.disk(file, elf_file(inode++, runtime()));
      builder.disk(file.substr(0, file.rfind('/')), directory());
    }
    const Snapshot snapshot =
        with_packages(builder.build(), {{"sgl-kernel", "0.3.21"}, {"torch", row.torch}});
    const std::pair<const char*, const char*> expected[] = {
        {"sglang-kernel-preload", row.present},
        {"sglang-kernel-preload-12", row.twelve},
        {"sglang-kernel-preload-lib", row.lib},
        {"sglang-kernel-preload-fixed", row.fixed}};
    for (const auto& [id, path] : expected) {
      INFO(id);
      const Selection selection = decide(snapshot, id);
      if (std::string_view(path) == "?") {
        CHECK(selection.outcome == Outcome::undetermined);
      } else {
        CHECK(selection.chosen_text == path);
        CHECK(selection.outcome == (*path == '\0' ? Outcome::none : Outcome::selected));
      }
    }
  }
}

TEST_CASE("sglang-kernel opens the file behind the links, and goes on where that fails") {
  DiskEntry link = elf_file(5, runtime());
  link.real_path = "/usr/local/cuda-12.8/lib/libcudart.so.12.8.90";
  SnapshotBuilder builder(MapsText().library("/usr/local/cuda-12.8/lib/libcudart.so.12.8.90", 5));
  builder.empty_env()
      .elf("/usr/local/cuda-12.8/lib/libcudart.so.12.8.90", runtime())
      .disk("/usr/local/cuda/lib64/libcudart.so.12", link);
  const Snapshot snapshot = with_packages(builder.build(), {{"sglang-kernel", "0.4.10"}});
  const Selection selection = decide(snapshot, "sglang-kernel-preload");
  CHECK(selection.chosen_text == "/usr/local/cuda-12.8/lib/libcudart.so.12.8.90");
  CHECK(selection.object == std::size_t{0});
  CHECK(has_step(selection, "/usr/local/cuda", "neither CUDA_HOME nor CUDA_PATH is set"));
}

TEST_CASE("PyTorch's preload: the first folder with a hit, one file") {
  struct Row {
    const char* name;
    std::vector<std::pair<std::string, std::vector<std::string>>> folders;
    const char* present;
    const char* legacy;
  };
  const std::string runtime_folder = kSite + "/nvidia/cuda_runtime/lib";
  const std::string cu13 = kSite + "/nvidia/cu13/lib";
  const std::string plain = kSite + "/cuda_runtime/lib";
  const Row rows[] = {
      {"the wheel of 13", {{cu13, {"libcudart.so.13"}}}, "cu13", ""},
      {"an old wheel beside it comes first",
       {{cu13, {"libcudart.so.13"}}, {runtime_folder, {"libcudart.so.12"}}},
       "cuda_runtime",
       "cuda_runtime"},
      {"a folder without nvidia", {{plain, {"libcudart.so.12"}}}, "plain", ""},
      {"the bare name and a name without a digit at its end are no hits",
       {{runtime_folder, {"libcudart.so", "libcudart.so.12.bak", "libcudart_static.a"}}},
       "",
       ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    SnapshotBuilder builder(MapsText{});
    builder.empty_env();
    for (const auto& [path, names] : row.folders) {
      builder.disk(path, folder(names));
      for (const std::string& name : names) {
        builder.disk(path + "/" + name, elf_file(path.size() + name.size(), runtime()));
      }
    }
    const Snapshot snapshot = with_packages(builder.build(), {{"torch", "2.11.0+cu130"}});
    const auto shown = [&](const char* id) -> std::string {
      const std::string text = decide(snapshot, id).chosen_text;
      if (text.starts_with(runtime_folder)) return "cuda_runtime";
      if (text.starts_with(cu13)) return "cu13";
      return text.empty() ? "" : "plain";
    };
    CHECK(shown("torch-preload") == row.present);
    CHECK(shown("torch-preload-legacy") == row.legacy);
  }
}

TEST_CASE("PyTorch's preload is open where one folder holds several files, and says of majors") {
  const std::string path = kSite + "/nvidia/cuda_runtime/lib";
  SnapshotBuilder builder(MapsText{});
  builder.empty_env()
      .disk(path, folder({"libcudart.so.11.0", "libcudart.so.12"}))
      .disk(path + "/libcudart.so.11.0", elf_file(1, runtime("libcudart.so.11.0")))
      .disk(path + "/libcudart.so.12", elf_file(2, runtime()));
  const Snapshot two = with_packages(builder.build(), {{"torch", "2.7.0+cu126"}});
  for (const char* id : {"torch-preload", "torch-preload-legacy"}) {
    const Selection selection = decide(two, id);
    CHECK(selection.outcome == Outcome::undetermined);
    CHECK(selection.possible ==
          std::vector<std::string>{path + "/libcudart.so.11.0", path + "/libcudart.so.12"});
    CHECK(selection.open_note.starts_with("several majors in one folder"));
  }
  builder.disk(path, folder({"libcudart.so.12", "libcudart.so.12.8.90"}))
      .disk(path + "/libcudart.so.12.8.90", elf_file(2, runtime()));
  const Snapshot links = with_packages(builder.build(), {{"torch", "2.11.0+cu126"}});
  CHECK(decide(links, "torch-preload").outcome == Outcome::selected);
}

TEST_CASE("PyTorch's preload of 2.9 does not run where no mapped file is named libcudart.so") {
  ElfFacts torch = make_plain("libtorch_cuda.so").elf;
  torch.needed = {"libcudart-d0da41ae.so.11.0"};
  SnapshotBuilder builder(MapsText()
                              .library("/t/lib/libcudart-d0da41ae.so.11.0", 1)
                              .library("/t/lib/libtorch_cuda.so", 3));
  builder.empty_env().elf("/t/lib/libtorch_cuda.so", torch);
  const Snapshot snapshot = with_packages(builder.build(), {{"torch", "2.11.0"}});
  CHECK(decide(snapshot, "torch-preload").outcome == Outcome::none);
}

TEST_CASE("PyTorch's row says what stands before its search") {
  ElfFacts torch = make_plain("libtorch_cuda.so").elf;
  torch.needed = {"libcudart.so.13"};
  torch.rpath = "$ORIGIN/../../nvidia/cudnn/lib:$ORIGIN/../../nvidia/cu13/lib:$ORIGIN";
  SnapshotBuilder builder(MapsText().library("/t/lib/libtorch_cuda.so", 3));
  builder.elf("/t/lib/libtorch_cuda.so", torch)
      .env("LD_PRELOAD", "/x/libcudart.so.13")
      .env("TORCH_USE_RTLD_GLOBAL", "1");
  const Selection selection = decide(builder.build(), "torch-elf");
  CHECK(has_step(selection, "LD_PRELOAD", "before all else"));
  CHECK(has_step(selection, "TORCH_USE_RTLD_GLOBAL", "global scope"));
  CHECK(has_step(selection, *torch.rpath, "before LD_LIBRARY_PATH"));
}

TEST_CASE("PyTorch finds its wheel's runtime by RPATH, whatever LD_LIBRARY_PATH says") {
  ElfFacts torch = make_plain("libtorch_cuda.so").elf;
  torch.needed = {"libcudart.so.13"};
  torch.rpath = "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN/../../nvidia/cuda_runtime/lib";
  const std::string library = kSite + "/torch/lib/libtorch_cuda.so";
  // As the loader puts it together: the folder of the library, then the entry's rest.
  const std::string wheels = kSite + "/torch/lib/../../nvidia/";
  SnapshotBuilder builder(MapsText().library(library, 3));
  builder.elf(library, torch)
      .env("LD_LIBRARY_PATH", "/l")
      .disk("/l/libcudart.so.13", elf_file(4, runtime("libcudart.so.13")))
      .disk(wheels + "cu13/lib/libcudart.so.13", elf_file(5, runtime("libcudart.so.13")))
      .disk(wheels + "cuda_runtime/lib/libcudart.so.13", elf_file(6, runtime("libcudart.so.13")));
  CHECK(decide(builder.build(), "torch-elf").disk_path == wheels + "cu13/lib/libcudart.so.13");
}

TEST_CASE("static copies are named, and nothing is selected") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()).build();
  Candidate copy;
  copy.kind = RuntimeKind::static_copy;
  copy.path = "/v/cuda/bindings/cyruntime.abi3.so";
  copy.version = "13.2";
  const std::vector<Candidate> candidates = {copy};
  const Policy* policy = find_policy("static");
  REQUIRE(policy != nullptr);
  const Selection selection = policy->decide(*policy, {snapshot, candidates});
  CHECK(selection.outcome == Outcome::not_applicable);
  CHECK(selection.open_note == "nothing is selected: private copies in cyruntime.abi3.so");
  CHECK(has_step(selection, copy.path, "13.2"));
  CHECK(policy->decide(*policy, {snapshot, {}}).steps.empty());
}

TEST_CASE("a preload's presence follows the consumer's version, from and until") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()).build();
  Consumer torch;
  torch.id = "torch";
  torch.name = "PyTorch";
  torch.presence = Presence::present;
  torch.vintage = "torch-elf";
  const auto presence = [&](std::string version, std::string_view id) {
    torch.version = std::move(version);
    for (const Selection& each : select_all({snapshot, {}}, std::vector<Consumer>{torch})) {
      if (each.policy == id) return each.presence;
    }
    return Presence::unknown;
  };
  CHECK(presence("2.8.0", "torch-preload-legacy") == Presence::present);
  CHECK(presence("2.8.0", "torch-preload") == Presence::absent);
  CHECK(presence("2.9.0", "torch-preload-legacy") == Presence::absent);
  CHECK(presence("2.15.0", "torch-preload") == Presence::present);
  CHECK(presence("2.15.0", "torch-elf") == Presence::present);
}
