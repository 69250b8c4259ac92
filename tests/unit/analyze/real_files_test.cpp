// Identity of NVIDIA's and TileLang's real files, as unpacked from their wheels, and of copies that
// patchelf changed the way wheel repair does. Nothing is loaded: the bytes are read.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/formats/content_scan.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
namespace fs = std::filesystem;

namespace {

bool is_ci() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

/// Where the wheels were unpacked. Without them the program ends as skipped, in CI as failed.
const fs::path& fixtures() {
  static const fs::path kRoot = [] {
    const char* root = std::getenv("CUDART_DOCTOR_FIXTURES");
    if (root != nullptr) return fs::path(root);
    std::puts("skipped: CUDART_DOCTOR_FIXTURES is not set (scripts/fetch-fixtures gets the files)");
    std::exit(is_ci() ? 1 : 77);
  }();
  return kRoot;
}

fs::path fixture(const std::string& name) {
  fs::path path = fixtures() / name;
  INFO("fetch it with scripts/fetch-fixtures: " << name);
  REQUIRE(fs::exists(path));
  return path;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct RealFile {
  std::string path;
  Fact<ElfFacts> elf;
  Fact<ContentScan> content;
};

/// As capture does it: cheap facts, then what the plan asks for.
RealFile read_file(const fs::path& path, std::string shown_as = {}) {
  RealFile file{shown_as.empty() ? path.string() : std::move(shown_as), {}, {}};
  const std::string text = read_text(path);
  MemorySource source(std::as_bytes(std::span(text)));
  auto reader = ElfReader::open(source, ElfImage::file);
  if (!reader) {
    file.elf = Fact<ElfFacts>::unknown(reader.error().message);
    return file;
  }
  ElfFacts facts = reader->read_facts();
  const ScanPlan plan = plan_scan(facts, file.path, ScanDepth::usual);
  if (plan.walk_symbols) reader->walk_symbols(facts);
  if (plan.search_contents) {
    auto content = scan_contents(source, reader->program_headers(), facts.machine);
    REQUIRE(content);
    file.content = Fact<ContentScan>::known(*content);
  }
  file.elf = Fact<ElfFacts>::known(std::move(facts));
  return file;
}

Candidate identify(const RealFile& file) {
  return identify_runtime(file.path, file.elf, file.content);
}

bool says(const std::vector<std::string>& evidence, std::string_view text) {
  return std::any_of(evidence.begin(), evidence.end(), [&](const std::string& sentence) {
    return sentence.find(text) != std::string::npos;
  });
}

/// A copy of a file in a folder of its own that goes away at the end.
class Copy {
 public:
  Copy(const fs::path& from, const std::string& name) {
    std::string pattern = (fs::temp_directory_path() / "real_files_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    path_ = folder_ / name;
    fs::copy_file(from, path_);
    fs::permissions(path_, fs::perms::owner_read | fs::perms::owner_write);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return path_; }

  void set_soname(const std::string& soname) const {
    const std::string command = "patchelf --set-soname '" + soname + "' '" + path_.string() + "'";
    INFO(command);
    REQUIRE(std::system(command.c_str()) == 0);
  }

 private:
  fs::path folder_;
  fs::path path_;
};

const std::string kRuntime12 = "cudart-12.4/nvidia/cuda_runtime/lib/libcudart.so.12";

}  // namespace

TEST_CASE("real runtimes are genuine, of the version of their wheel") {
  struct Row {
    const char* file;
    const char* version;
    std::uint32_t functions;  ///< As nm -D counts them.
  };
  const Row row = GENERATE(values<Row>({
      {"cudart-11.8/nvidia/cuda_runtime/lib/libcudart.so.11.0", "11.8", 395},
      {"cudart-12.4/nvidia/cuda_runtime/lib/libcudart.so.12", "12.4", 416},
      {"cudart-12.8/nvidia/cuda_runtime/lib/libcudart.so.12", "12.8", 435},
      {"cudart-13.0/nvidia/cu13/lib/libcudart.so.13", "13.0", 422},
      {"cudart-13.2/nvidia/cu13/lib/libcudart.so.13", "13.2", 452},
      // Read like any other, wherever the test runs.
      {"cudart-12.8-arm64/nvidia/cuda_runtime/lib/libcudart.so.12", "12.8", 435},
      {"cudart-13.0-arm64/nvidia/cu13/lib/libcudart.so.13", "13.0", 422},
  }));
  CAPTURE(row.file);
  const auto candidate = identify(read_file(fixture(row.file)));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.version == row.version);
  CHECK(candidate.version_from == "constant in code");
  CHECK(candidate.exported == row.functions);
  CHECK(candidate.missing.empty());
  CHECK_FALSE(candidate.vendored);
  CHECK_FALSE(candidate.soname_disagrees);
  CHECK(candidate.selectable_by_name);
}

TEST_CASE("a real runtime is known without its code too, as in a memory image") {
  RealFile file = read_file(fixture(kRuntime12));
  file.content = {};
  file.elf.get()->from_memory = true;
  const auto candidate = identify(file);
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.major == 12);
}

TEST_CASE("a hashed soname leaves a real runtime genuine") {
  const Copy copy(fixture(kRuntime12), "libcudart.41118559.so.12");
  copy.set_soname("libcudart.41118559.so.12");
  const auto candidate = identify(read_file(copy.path()));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.vendored);
  CHECK(candidate.version == "12.4");
  CHECK(candidate.build_id == identify(read_file(fixture(kRuntime12))).build_id);
}

TEST_CASE("a 12 runtime under the soname of 13 is a 12 runtime") {
  const Copy copy(fixture(kRuntime12), "libcudart.so.13");
  copy.set_soname("libcudart.so.13");
  const auto candidate = identify(read_file(copy.path()));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.soname_disagrees);
  CHECK(candidate.major == 12);
}

TEST_CASE("a cut runtime is not genuine") {
  const auto size = GENERATE(std::uintmax_t{0}, std::uintmax_t{40}, std::uintmax_t{200'000},
                             std::uintmax_t{650'000});
  const Copy copy(fixture(kRuntime12), "libcudart.so.12");
  fs::resize_file(copy.path(), size);
  CAPTURE(size);
  const auto candidate = identify(read_file(copy.path()));
  CHECK(candidate.kind == RuntimeKind::undetermined);
  CHECK_FALSE(candidate.evidence.empty());
}

TEST_CASE("TileLang's real shims are told, with their releases") {
  struct Row {
    const char* file;
    const char* releases;
    bool selectable;
  };
  const Row row = GENERATE(values<Row>({
      {"tilelang-0.1.11/tilelang/lib/libcudart_stub.so", "0.1.10 or 0.1.11", true},
      {"tilelang-0.1.12/tilelang/lib/libstub_cudart.so", "0.1.12 or later", false},
  }));
  const auto candidate = identify(read_file(fixture(row.file)));
  CHECK(candidate.kind == RuntimeKind::shim);
  CHECK(candidate.label == "TileLang shim");
  CHECK(candidate.exported == 39);
  CHECK(candidate.missing == std::vector<std::string>{"cudaDeviceReset"});
  CHECK(says(candidate.evidence, std::string("shape of TileLang ") + row.releases));
  CHECK(candidate.selectable_by_name == row.selectable);
}

TEST_CASE("a renamed shim is still the shim") {
  const Copy copy(fixture("tilelang-0.1.12/tilelang/lib/libstub_cudart.so"), "libcudart.so.12");
  copy.set_soname("libcudart.so.12");
  const auto candidate = identify(read_file(copy.path()));
  CHECK(candidate.kind == RuntimeKind::shim);
  CHECK(candidate.selectable_by_name);
}

TEST_CASE("TileLang's other shims are companions and no runtimes") {
  struct Row {
    const char* file;
    CompanionKind kind;
  };
  const Row row = GENERATE(values<Row>({
      {"tilelang-0.1.11/tilelang/lib/libcuda_stub.so", CompanionKind::driver_shim},
      {"tilelang-0.1.11/tilelang/lib/libnvrtc_stub.so", CompanionKind::nvrtc_shim},
      {"tilelang-0.1.12/tilelang/lib/libstub_cuda.so", CompanionKind::driver_shim},
      {"tilelang-0.1.12/tilelang/lib/libstub_nvrtc.so", CompanionKind::nvrtc_shim},
  }));
  const RealFile file = read_file(fixture(row.file));
  CHECK(identify_companion(file.path, file.elf, file.content).kind == row.kind);
  CHECK(identify(file).evidence.empty());
}

TEST_CASE("cuda-bindings holds a runtime of its own") {
  const fs::path folder = fixture("cuda-bindings/cuda/bindings/_bindings");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".so") continue;
    const auto candidate = identify(read_file(entry.path()));
    CHECK(candidate.kind == RuntimeKind::static_copy);
    CHECK(candidate.version == "12.9");
    CHECK_FALSE(candidate.selectable_by_name);
  }
}

TEST_CASE("released sources give the vintage of their rule") {
  struct Row {
    const char* folder;
    const char* file;
    const char* id;
    const char* vintage;
  };
  const char* flashinfer = "flashinfer/comm/cuda_ipc.py";
  const char* sglang = "sglang/srt/distributed/device_communicators/cuda_wrapper.py";
  const Row row = GENERATE_COPY(values<Row>({
      {"flashinfer-0.6.13", flashinfer, "flashinfer", "flashinfer-legacy-rt10"},
      {"flashinfer-0.6.17", flashinfer, "flashinfer", "flashinfer-legacy-rt11"},
      {"flashinfer-0.7.4", flashinfer, "flashinfer", "flashinfer-2026-09"},
      {"sglang-0.5.9", sglang, "sglang", "sglang-legacy"},
      {"sglang-0.5.23", sglang, "sglang", "sglang-2026-07"},
  }));
  CAPTURE(row.folder);
  Snapshot snapshot;
  snapshot.python.site_directories = {"/site"};
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.text =
      Fact<std::string>::known(read_text(fixture(std::string(row.folder) + "/" + row.file)));
  snapshot.disk[std::string("/site/") + row.file] = entry;
  for (const auto& consumer : find_consumers(snapshot)) {
    if (consumer.id == row.id) CHECK(consumer.vintage == row.vintage);
  }
}
