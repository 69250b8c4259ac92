// Kinds of runtime-like objects, each from its witnesses, with the near misses.
#include <algorithm>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/names.hpp"
#include "support/catch.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr const char* kWheel = "/v/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";

Candidate identify(std::string_view path, const SyntheticElf& made) {
  return identify_runtime(path, Fact<ElfFacts>::known(made.elf),
                          Fact<ContentScan>::known(made.content));
}

Candidate identify_unsearched(std::string_view path, const SyntheticElf& made) {
  return identify_runtime(path, Fact<ElfFacts>::known(made.elf), {});
}

bool says(const Candidate& candidate, std::string_view text) {
  return std::any_of(
      candidate.evidence.begin(), candidate.evidence.end(),
      [&](const std::string& sentence) { return sentence.find(text) != std::string::npos; });
}

void drop_content(SyntheticElf& made) { made.content = {}; }

void keep_exports(SyntheticElf& made, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  made.elf.census.runtime = static_cast<std::uint32_t>(names.size());
  made.elf.defined_symbols = made.elf.census.runtime;
  made.elf.exports_api = !names.empty();
  made.elf.exports = std::move(names);
}

std::vector<std::string> tilelang_names() {
  const auto bound = names_tilelang();
  std::vector<std::string> names(bound.begin(), bound.end());
  names.emplace_back("cudaFuncSetAttribute");
  names.emplace_back("cudaGetErrorString");
  return names;
}

}  // namespace

TEST_CASE("a runtime whose witnesses agree is genuine, with the version of its code") {
  struct Row {
    const char* file;
    const char* soname;
    const char* contents;
    const char* version;
    int major;
  };
  const Row row = GENERATE(values<Row>({
      {"libcudart.so.11.0", "libcudart.so.11.0", "11.8", "11.8", 11},
      {"libcudart.so.11.8.89", "libcudart.so.11.0", "11.8", "11.8.89", 11},
      {"libcudart.so.12", "libcudart.so.12", "12.4", "12.4", 12},
      {"libcudart.so.12.4.127", "libcudart.so.12", "12.4", "12.4.127", 12},
      {"libcudart.so.13", "libcudart.so.13", "13.5", "13.5", 13},
      // A file name that code contradicts gives no fuller version.
      {"libcudart.so.12.9.79", "libcudart.so.12", "12.4", "12.4", 12},
      // 12.10 is not a fuller 12.1.
      {"libcudart.so.12.10.5", "libcudart.so.12", "12.1", "12.1", 12},
  }));
  const auto candidate =
      identify(std::string("/lib/") + row.file, make_genuine_runtime(row.soname, row.contents));
  CAPTURE(row.file);
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.version == row.version);
  CHECK(candidate.major == row.major);
  CHECK_FALSE(candidate.vendored);
  CHECK_FALSE(candidate.soname_disagrees);
  CHECK(candidate.missing.empty());
  CHECK(candidate.selectable_by_name);
}

TEST_CASE("a private soname with the original version node is a vendored copy") {
  const char* soname =
      GENERATE("libcudart-d0da41ae.so.11.0", "libcudart.41118559.so.12", "libmine.so");
  const auto candidate =
      identify(std::string("/v/x.libs/") + soname, make_genuine_runtime(soname, "11.8"));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.vendored);
  CHECK(candidate.version == "11.8");
  CHECK(says(candidate, soname));
}

TEST_CASE("a public soname of another major does not change what the contents are") {
  const auto candidate =
      identify("/lib/libcudart.so.13", make_genuine_runtime("libcudart.so.13", "12.8"));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.soname_disagrees);
  CHECK_FALSE(candidate.vendored);
  CHECK(candidate.major == 12);
  CHECK(says(candidate, "soname says 13, contents say 12.8"));
  CHECK(says(candidate, "file name says 13, contents say 12.8"));
}

TEST_CASE("the file name decides nothing") {
  const char* path = GENERATE("/tmp/renamed", "/memfd:libcudart.so.12", "/opt/x/libfoo.so.1");
  const auto candidate = identify(path, make_genuine_runtime("libcudart.so.12", "12.8"));
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK_FALSE(candidate.selectable_by_name);
}

TEST_CASE("older runtimes have fewer of the four texts") {
  struct Row {
    const char* version;
    std::size_t texts;
    RuntimeKind kind;
  };
  const Row row = GENERATE(values<Row>({{"11.7", 3, RuntimeKind::genuine},
                                        {"11.8", 3, RuntimeKind::undetermined},
                                        {"11.0", 2, RuntimeKind::genuine},
                                        {"11.7", 2, RuntimeKind::undetermined}}));
  auto made = make_genuine_runtime("libcudart.so.11.0", row.version);
  made.content.yardstick.resize(row.texts);
  CHECK(identify("/lib/libcudart.so.11.0", made).kind == row.kind);
}

TEST_CASE("the needs of runtimes from 13.1 on speak for nobody else") {
  auto made = make_genuine_runtime("libcudart.so.13", "13.1");
  made.elf.needed = {"libdl.so.2", "libpthread.so.0", "librt.so.1", "libstdc++.so.6",
                     "libm.so.6",  "libgcc_s.so.1",   "libc.so.6",  "ld-linux-x86-64.so.2"};
  CHECK(identify("/lib/libcudart.so.13", made).kind == RuntimeKind::genuine);
  CHECK(identify_unsearched("/lib/libcudart.so.13", made).kind == RuntimeKind::genuine);
}

TEST_CASE("an image read from memory is judged by exports, node and needs") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4");
  made.elf.from_memory = true;
  made.elf.file_size = 0;
  made.elf.build_id.reset();
  const auto candidate = identify_unsearched(kWheel, made);
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.major == 12);
  CHECK(candidate.version.empty());
  CHECK(says(candidate, "version constant in code not seen"));

  made.elf.needed.emplace_back("libgvirtus-frontend.so");
  CHECK(identify_unsearched(kWheel, made).kind == RuntimeKind::stand_in);
}

TEST_CASE("a version that code writes in an unknown way does not make a stranger") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4");
  made.content.constants = {{12000, 1}};
  const auto candidate = identify("/lib/libcudart.so.12.4.127", made);
  CHECK(candidate.kind == RuntimeKind::genuine);
  CHECK(candidate.version == "12.4.127");
  CHECK(candidate.version_from == "file name");
}

TEST_CASE("signs that contradict each other leave the kind open") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4");
  SECTION("code of another major than the node") { made.content.constants = {{13000, 2}}; }
  SECTION("two constants") { made.content.constants = {{12040, 2}, {12080, 2}}; }
  SECTION("code without the node") {
    made.elf.version_base.reset();
    made.elf.version_definitions.clear();
  }
  SECTION("code and node, but a part of the API") { made.elf.census.runtime = 200; }
  SECTION("constant without its texts") { made.content.yardstick.clear(); }
  SECTION("code and node, but nothing exported") { keep_exports(made, {}); }
  const auto candidate = identify(kWheel, made);
  CHECK(candidate.kind == RuntimeKind::undetermined);
  CHECK_FALSE(candidate.evidence.empty());
}

TEST_CASE("the whole API without NVIDIA's node or code is a stand-in") {
  auto made = make_genuine_runtime("libcudart.so.11.0", "11.8");
  drop_content(made);
  SECTION("no node: smolvm's shim") {
    made.elf.version_base.reset();
    made.elf.version_definitions.clear();
  }
  SECTION("node, but nothing of the code: a vendor's runtime") {}
  const auto candidate = identify("/usr/lib/libcudart.so.11.0", made);
  CHECK(candidate.kind == RuntimeKind::stand_in);
  CHECK(candidate.missing.empty());
}

TEST_CASE("GVirtuS is told by what it needs") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4");
  drop_content(made);
  made.elf.version_base.reset();
  made.elf.version_definitions.clear();
  made.elf.needed = {"libgvirtus-communicators.so", "liblog4cplus-2.0.so.3", "libc.so.6"};
  const auto candidate = identify("/opt/gvirtus/lib/frontend/libcudart.so.12", made);
  CHECK(candidate.kind == RuntimeKind::stand_in);
  CHECK(candidate.label == "GVirtuS");
}

TEST_CASE("the right node and a few names are a stand-in: OvenMediaEngine's stub") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4", {"cudaDeviceReset"});
  drop_content(made);
  made.elf.census.runtime = 45;
  made.content.markers = {"cuda stub: not supported"};
  const auto candidate = identify("/opt/ovenmediaengine/lib/stubs/libcudart.so.12", made);
  CHECK(candidate.kind == RuntimeKind::stand_in);
  CHECK(candidate.label == "OvenMediaEngine stub");
  CHECK(candidate.missing == std::vector<std::string>{"cudaDeviceReset"});
}

TEST_CASE("TileLang's shim is told by text, names and name shape") {
  auto made = make_lookalike("libcudart_stub.so");
  keep_exports(made, tilelang_names());
  const std::string path = "/v/site-packages/tilelang/lib/libcudart_stub.so";

  SECTION("names and name shape alone, as read from memory") {
    const auto candidate = identify_unsearched(path, made);
    CHECK(candidate.kind == RuntimeKind::shim);
    CHECK(candidate.label == "TileLang shim");
    CHECK(candidate.exported == 39);
    CHECK(candidate.missing == std::vector<std::string>{"cudaDeviceReset"});
    CHECK(candidate.version.empty());
    CHECK(candidate.selectable_by_name);
    CHECK(says(candidate, "TileLang 0.1.8 or 0.1.9"));
  }
  SECTION("the _v2 entry of builds with CUDA 12 headers") {
    auto names = tilelang_names();
    std::replace(names.begin(), names.end(), std::string("cudaGetDeviceProperties"),
                 std::string("cudaGetDeviceProperties_v2"));
    keep_exports(made, names);
    CHECK(identify_unsearched("/x/libother.so", made).kind == RuntimeKind::shim);
  }
  SECTION("each release by its text, leaked symbols and name") {
    struct Row {
      const char* text;
      std::uint32_t defined;
      const char* name;
      const char* releases;
    };
    const Row row = GENERATE(values<Row>({
        {"TileLang Error: libcudart symbols not found globally.", 39, "libcudart_stub.so", "0.1.8"},
        {"TileLang Error: libcudart symbols not found.", 39, "libcudart_stub.so", "0.1.9"},
        {"TileLang Error: cudart symbols not found.", 64, "libcudart_stub.so", "0.1.10 or 0.1.11"},
        {"TileLang Error: cudart symbols not found.", 64, "libstub_cudart.so", "0.1.12 or later"},
        {"TileLang Error: cudart symbols not found.", 64, "libmine.so", "0.1.10 or later"},
    }));
    made.content.markers = {row.text};
    made.elf.defined_symbols = row.defined;
    made.elf.soname = row.name;
    const auto candidate = identify(std::string("/x/") + row.name, made);
    CHECK(candidate.kind == RuntimeKind::shim);
    CHECK(candidate.evidence.back() == std::string("shape of TileLang ") + row.releases);
  }
  SECTION("text and count that no release has together") {
    made.content.markers = {"TileLang Error: libcudart symbols not found globally."};
    made.elf.defined_symbols = 64;
    CHECK(says(identify(path, made), "signs of TileLang's version disagree"));
  }
  SECTION("the renamed file escapes the rules that look at names") {
    made.elf.soname = "libstub_cudart.so";
    const auto candidate = identify("/v/site-packages/tilelang/lib/libstub_cudart.so", made);
    CHECK(candidate.kind == RuntimeKind::shim);
    CHECK_FALSE(candidate.selectable_by_name);
  }
}

TEST_CASE("a look-alike with TileLang's name and a part of its names is taken for the shim") {
  const auto candidate = identify("/v/site-packages/tilelang/lib/libcudart_stub.so",
                                  make_lookalike("libcudart_stub.so", {"cudaDeviceReset"}));
  CHECK(candidate.kind == RuntimeKind::shim);
  CHECK(candidate.missing == std::vector<std::string>{"cudaDeviceReset"});
}

TEST_CASE("a name that TileLang never had makes it somebody else's stub") {
  const auto candidate = identify("/x/libcudart_stub.so", make_lookalike("libcudart_stub.so"));
  CHECK(candidate.kind == RuntimeKind::stub);
  CHECK(candidate.label == "partial stub");
  CHECK(candidate.missing.empty());
}

TEST_CASE("a bare soname and no function is an empty stub") {
  const auto candidate = identify("/x/stubs/libcudart.so", make_plain("libcudart.so.12"));
  CHECK(candidate.kind == RuntimeKind::stub);
  CHECK(candidate.label == "empty stub");
  CHECK(candidate.missing.size() == 11);
}

TEST_CASE("a public soname with a few functions is a stand-in") {
  const auto candidate =
      identify("/x/libcudart.so.12", make_lookalike("libcudart.so.12", {"cudaDeviceReset"}));
  CHECK(candidate.kind == RuntimeKind::stand_in);
}

TEST_CASE("a preloaded hook that takes over some names is an interposer") {
  auto made = make_plain();
  keep_exports(made, {"cudaFree", "cudaMalloc"});
  made.elf.needed = {"libcudart.so.12", "libcuda.so.1", "libc.so.6"};
  const auto candidate = identify("/v/torch_memory_saver_hook_mode_preload_cu12.abi3.so", made);
  CHECK(candidate.kind == RuntimeKind::stand_in);
  CHECK(candidate.label == "interposer");
  CHECK_FALSE(candidate.selectable_by_name);
}

TEST_CASE("a function of one's own that begins with cuda does not offer the API") {
  auto made = make_plain("libmine.so");
  keep_exports(made, {"__cudaRegisterLinkedBinary_00_a_cu_1", "cudaMyKernelLauncher"});
  const auto candidate = identify("/x/libmine.so", made);
  CHECK(candidate.kind == RuntimeKind::not_a_runtime);
  CHECK(candidate.evidence.empty());
}

TEST_CASE("a runtime that is linked in is a static copy") {
  const auto candidate = identify("/usr/lib/libcublas.so.13", make_static_copy("13.1"));
  CHECK(candidate.kind == RuntimeKind::static_copy);
  CHECK(candidate.version == "13.1");
  CHECK(candidate.missing.empty());
  CHECK_FALSE(candidate.selectable_by_name);
}

TEST_CASE("a lone constant or the texts alone are no static copy") {
  SECTION("libcufft has one hit and no texts") {
    auto made = make_plain("libcufft.so.12");
    made.content.constants = {{12000, 1}};
    CHECK(identify("/x/libcufft.so.12", made).evidence.empty());
  }
  SECTION("the driver has four hits of its own version") {
    CHECK(identify("/x/libcuda.so.550.163.01", make_driver("550.163.01")).evidence.empty());
  }
  SECTION("a program that holds the texts to search for them") {
    auto made = make_static_copy("12.4");
    made.content.constants.clear();
    made.elf.device_code_sections = false;
    CHECK(identify("/x/cudart-doctor", made).evidence.empty());
  }
  SECTION("the texts beside device code leave it open") {
    auto made = make_static_copy("12.4");
    made.content.constants.clear();
    CHECK(identify("/x/server", made).kind == RuntimeKind::undetermined);
  }
}

TEST_CASE("an object that only bears the word is not a runtime") {
  const char* name = GENERATE("mylibcudart.so.12", "pyCUDART_helper.so", "cudart_info.so");
  const auto candidate = identify(std::string("/x/") + name, make_plain());
  CHECK(candidate.kind == RuntimeKind::not_a_runtime);
  CHECK(says(candidate, "only the file name says cudart"));
}

TEST_CASE("a directory's name makes no candidate") {
  const auto candidate =
      identify("/opt/libcudart-12.4-bundle/lib/libcublas.so.12", make_plain("libcublas.so.12"));
  CHECK(candidate.kind == RuntimeKind::not_a_runtime);
  CHECK(candidate.evidence.empty());
}

TEST_CASE("a file with a runtime's name that cannot be judged is never genuine") {
  auto made = make_genuine_runtime("libcudart.so.12", "12.4");
  SECTION("cut") { made.elf.file_size = 200'000, made.elf.required_size = 707'000; }
  SECTION("no dynamic section") { made.elf.has_dynamic = false; }
  SECTION("symbols not listed") {
    made.elf.symbols_walked = false;
    made.elf.census = {};
    made.elf.exports.clear();
    made.elf.damage = {"symbol table lies past the end"};
  }
  const auto candidate = identify(kWheel, made);
  CHECK(candidate.kind == RuntimeKind::undetermined);
  CHECK_FALSE(candidate.evidence.empty());
}

TEST_CASE("what could not be read is undetermined by its name, and says why") {
  const auto candidate = identify_runtime(kWheel, Fact<ElfFacts>::unknown("permission denied"), {});
  CHECK(candidate.kind == RuntimeKind::undetermined);
  CHECK(says(candidate, "permission denied"));
  const auto other =
      identify_runtime("/x/libz.so.1", Fact<ElfFacts>::unknown("permission denied"), {});
  CHECK(other.kind == RuntimeKind::not_a_runtime);
  CHECK(other.evidence.empty());
}

TEST_CASE("a file that is no library at all is broken only where its name claims one") {
  struct Row {
    const char* base;
    RuntimeKind kind;
  };
  const Row row = GENERATE(values<Row>({{"libcudart.so", RuntimeKind::undetermined},
                                        {"libcudart.so.12", RuntimeKind::undetermined},
                                        {"libcudart.json", RuntimeKind::not_a_runtime},
                                        {"libcudart.so.12.backup", RuntimeKind::not_a_runtime},
                                        {"libcudart_static.a", RuntimeKind::not_a_runtime}}));
  const auto candidate = identify_runtime(std::string("/x/") + row.base,
                                          Fact<ElfFacts>::unknown("not an ELF file"), {});
  CAPTURE(row.base);
  CHECK(candidate.kind == row.kind);
  CHECK(says(candidate, "not an ELF file"));
}

TEST_CASE("foreign text in evidence is printable and short") {
  auto made = make_genuine_runtime("libcudart-\x1b[31m.so.12", "12.4");
  made.elf.needed.push_back("lib\n" + std::string(300, 'x'));
  made.elf.damage = {std::string(300, '\x01')};
  made.elf.version_base = "libcudart.so.12";
  for (const auto& candidate :
       {identify("/x/libcudart.so.12", made), identify_unsearched("/x/libcudart.so.12", made)}) {
    for (const std::string& sentence : candidate.evidence) {
      CHECK(sentence.size() <= 240);
      CHECK(
          std::none_of(sentence.begin(), sentence.end(), [](char c) { return c > 0 && c < ' '; }));
    }
  }
}

TEST_CASE("names that some rule could take are selectable") {
  struct Row {
    const char* base;
    bool selectable;
  };
  const Row row = GENERATE(values<Row>({{"libcudart.so", true},
                                        {"libcudart.so.12", true},
                                        {"libcudart-d0da41ae.so.11.0", true},
                                        {"libcudart_stub.so", true},
                                        {"libcudartfoo.so.1", true},
                                        {"libcudart.json", true},
                                        {"libstub_cudart.so", false},
                                        {"mylibcudart.so.12", false},
                                        {"memfd:libcudart.so.12", false},
                                        {"libcudart", false},
                                        {"LIBCUDART.so", false}}));
  CAPTURE(row.base);
  CHECK(identify(std::string("/x/") + row.base, make_plain()).selectable_by_name == row.selectable);
}
