// Who is present, absent or unknown, and which vintage of its rule it has.
#include "cudart_doctor/analyze/consumers.hpp"

#include <algorithm>

#include "cudart_doctor/formats/content_scan.hpp"
#include "support/catch.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kSite = "/v/lib/python3.12/site-packages";

Snapshot make_python() {
  Snapshot snapshot;
  snapshot.python.is_python = true;
  snapshot.python.site_directories = {kSite};
  return snapshot;
}

void map_object(Snapshot& snapshot, const std::string& path, const ContentScan& content = {}) {
  LoadedObject object;
  object.paths = {path};
  object.executable = true;
  object.elf = Fact<ElfFacts>::known(make_plain().elf);
  object.content = Fact<ContentScan>::known(content);
  snapshot.objects.push_back(object);
}

void add_source(Snapshot& snapshot, const std::string& path, const std::string& text) {
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.text = Fact<std::string>::known(text);
  snapshot.disk[path] = entry;
}

Consumer consumer(const Snapshot& snapshot, std::string_view id) {
  for (const auto& found : find_consumers(snapshot)) {
    if (found.id == id) return found;
  }
  FAIL("no such consumer");
  return {};
}

const std::string kSearch = "def find_loaded_library(lib_name):\n";
const std::string kAssertion = "f\"Unexpected filename: {filename} for library {lib_name}\"\n";
const std::string kList10 =
    "    exported_functions = [\n        Function(\"cudaSetDevice\", x),\n    ]\n";
const std::string kList11 =
    "    exported_functions = [\n        Function(\n            \"cudaIpcCloseMemHandle\", x),\n   "
    " ]\n";

}  // namespace

TEST_CASE("every known consumer has a row, always in the same order") {
  std::vector<std::string> ids;
  for (const auto& found : find_consumers(Snapshot{})) {
    ids.push_back(found.id);
    CHECK(found.presence == Presence::unknown);
    CHECK(found.vintage.empty());
  }
  CHECK(ids == std::vector<std::string>{"vllm", "sglang", "flashinfer", "tilelang", "torch",
                                        "cudnn-frontend", "cuda-pathfinder", "cuda-bindings",
                                        "cupy", "numba-cuda", "torch-memory-saver",
                                        "sglang-kernel"});
}

TEST_CASE("absent needs a Python path that was read completely") {
  Snapshot snapshot = make_python();
  SECTION("read") { CHECK(consumer(snapshot, "vllm").presence == Presence::absent); }
  SECTION("an environment without a program") {
    snapshot.python.is_python = false;
    snapshot.environment_only = true;
    CHECK(consumer(snapshot, "vllm").presence == Presence::absent);
  }
  SECTION("no Python program") {
    snapshot.python.is_python = false;
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("a directory could not be read") {
    snapshot.python.unread_directories = {"/home/u/.local: permission denied"};
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("no site directory was found") {
    snapshot.python.site_directories.clear();
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
}

TEST_CASE("a program without an interpreter has no consumer that is Python code") {
  Snapshot snapshot;
  snapshot.process.executable = Fact<std::string>::known("/opt/server");
  map_object(snapshot, "/opt/server");
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known({{0, {{0, "", 0}}, {}}});
  SECTION("nothing of Python is there") {
    CHECK(consumer(snapshot, "vllm").presence == Presence::absent);
    CHECK(consumer(snapshot, "flashinfer").presence == Presence::absent);
    // These run without Python too.
    CHECK(consumer(snapshot, "cudnn-frontend").presence == Presence::unknown);
    CHECK(consumer(snapshot, "torch").presence == Presence::unknown);
  }
  SECTION("an embedded interpreter") {
    map_object(snapshot, "/usr/lib/libpython3.12.so.1.0");
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("an interpreter that is linked in loaded an extension module") {
    map_object(snapshot, "/opt/lib/_ctypes.cpython-312-x86_64-linux-gnu.so");
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("the link map is not known") {
    snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown("permission denied");
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("a library could not be read") {
    map_object(snapshot, "/opt/libfoo.so");
    snapshot.objects.back().elf = Fact<ElfFacts>::unknown("permission denied");
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("the executable is not known") {
    snapshot.process.executable = Fact<std::string>::unknown("permission denied");
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
  SECTION("a test case") {
    snapshot.origin = SnapshotOrigin::fixture;
    CHECK(consumer(snapshot, "vllm").presence == Presence::unknown);
  }
}

TEST_CASE("a mapped object of a package makes it present") {
  struct Row {
    std::string path;
    const char* id;
  };
  const Row row = GENERATE(values<Row>({
      {kSite + "/vllm/_C.abi3.so", "vllm"},
      {"/w/vllm/vllm/_moe_C.abi3.so", "vllm"},
      {kSite + "/sgl_kernel/common_ops.abi3.so", "sglang"},
      {kSite + "/flashinfer/data/x.so", "flashinfer"},
      {"/root/.cache/flashinfer/0.6.14/90a/cached_ops/norm/norm.so", "flashinfer"},
      {"/opt/lib/python3/dist-packages/tilelang/lib/libstub_cudart.so", "tilelang"},
      {kSite + "/torch/lib/libtorch_cuda.so", "torch"},
      {kSite + "/cudnn/_compiled_module.cpython-312-x86_64-linux-gnu.so", "cudnn-frontend"},
  }));
  Snapshot snapshot = make_python();
  map_object(snapshot, row.path);
  CAPTURE(row.path);
  for (const auto& found : find_consumers(snapshot)) {
    // The kernel package stands for SGLang, and is a consumer itself.
    const bool here =
        found.id == row.id || (row.id == std::string("sglang") && found.id == "sglang-kernel");
    CHECK(found.presence == (here ? Presence::present : Presence::absent));
  }
}

TEST_CASE("a directory named like a package does not make it present") {
  const std::string path =
      GENERATE("/home/u/vllm/venv/lib/python3.12/site-packages/numpy/core.cpython-312.so",
               "/srv/sglang/bin/server", "/home/u/torch/x/liba.so");
  Snapshot snapshot = make_python();
  map_object(snapshot, path);
  for (const auto& found : find_consumers(snapshot)) CHECK(found.presence == Presence::absent);
}

TEST_CASE("a distribution makes present and gives the version that Python would import") {
  Snapshot snapshot = make_python();
  snapshot.python.site_directories = {"/first", kSite};
  snapshot.python.distributions = {{"flashinfer-python", "0.6.14", kSite},
                                   {"flashinfer-python", "0.7.4", "/first"},
                                   {"flashinfer-cubin", "0.6.1", kSite}};
  const auto found = consumer(snapshot, "flashinfer");
  CHECK(found.presence == Presence::present);
  CHECK(found.version == "0.7.4");
  CHECK(found.signs == std::vector<std::string>{"flashinfer-python-0.7.4.dist-info"});
}

TEST_CASE("the command line names the consumer") {
  struct Row {
    std::vector<std::string> arguments;
    const char* id;
  };
  const Row row = GENERATE(values<Row>({
      {{"vllm", "serve", "m"}, "vllm"},
      {{"/v/bin/python3", "/v/bin/vllm", "serve"}, "vllm"},
      {{"python", "-u", "-X", "dev", "/v/bin/vllm"}, "vllm"},
      {{"python3.12", "-m", "vllm.entrypoints.openai.api_server"}, "vllm"},
      {{"VLLM::EngineCore_0"}, "vllm"},
      {{"python3", "-m", "sglang.launch_server", "--tp", "8"}, "sglang"},
      {{"sglang::scheduler_TP0"}, "sglang"},
      {{"/v/bin/python", "serve.py", "--model", "/models/vllm"}, ""},
      {{"python", "-m", "vllmx"}, ""},
      {{"python", "-c", "vllm"}, ""},
  }));
  Snapshot snapshot = make_python();
  snapshot.process.command_line = Fact<std::vector<std::string>>::known(row.arguments);
  for (const auto& found : find_consumers(snapshot)) {
    CAPTURE(found.id, row.arguments);
    CHECK(found.presence == (found.id == row.id ? Presence::present : Presence::absent));
  }
}

TEST_CASE("what is read about a consumer's source is asked for beforehand, each once") {
  Snapshot snapshot = make_python();
  map_object(snapshot, "/w/vllm/vllm/_C.abi3.so");
  const auto wanted = wanted_by_consumers(snapshot);
  CHECK(std::is_sorted(wanted.begin(), wanted.end()));
  CHECK(std::adjacent_find(wanted.begin(), wanted.end()) == wanted.end());
  for (const std::string& path :
       {kSite + "/flashinfer/comm/cuda_ipc.py", kSite + "/vllm/utils/system_utils.py",
        std::string("/w/vllm/vllm/utils/system_utils.py"),
        kSite + "/sglang/srt/distributed/device_communicators/cuda_wrapper.py"}) {
    CHECK(std::find(wanted.begin(), wanted.end(), DiskRequest{DiskRequest::Want::text, path, ""}) !=
          wanted.end());
  }
}

TEST_CASE("the installed text gives the vintage, whatever the version says") {
  struct Row {
    const char* id;
    const char* file;
    std::string text;
    const char* vintage;
  };
  const char* wrapper = "/sglang/srt/distributed/device_communicators/cuda_wrapper.py";
  const char* flashinfer = "/flashinfer/comm/cuda_ipc.py";
  const Row row = GENERATE_COPY(values<Row>({
      {"flashinfer", flashinfer, kSearch + kAssertion + kList10, "flashinfer-legacy-rt10"},
      {"flashinfer", flashinfer, kSearch + kAssertion + kList11, "flashinfer-legacy-rt11"},
      {"flashinfer", flashinfer,
       "def _is_library_filename(\n(?:-[0-9a-fA-F]+)?\\.so\n" + kSearch + kAssertion + kList11,
       "flashinfer-2026-09"},
      {"flashinfer", flashinfer,
       "def _is_library_filename(\n(?:-[^.]+)?\\.so\n" + kSearch + kAssertion + kList11,
       "flashinfer-5198-draft"},
      {"flashinfer", flashinfer,
       "def _is_library_filename(\n(?:-[A-Z]+)?\\.so\n" + kSearch + kAssertion, ""},
      {"flashinfer", flashinfer, kSearch + "something new", ""},
      {"sglang", wrapper, kSearch + kAssertion, "sglang-legacy"},
      {"sglang", wrapper,
       kSearch + "path.endswith(\" (deleted)\")\n\"stub\" not in os.path.basename(path)",
       "sglang-2026-07"},
      {"sglang", wrapper, kSearch + "\"stub\" not in os.path.basename(path)", "sglang-30870-draft"},
      {"vllm", "/vllm/distributed/device_communicators/cuda_wrapper.py", kSearch + kAssertion,
       "vllm-legacy"},
      {"vllm", "/vllm/utils/system_utils.py",
       kSearch + "startswith((f\"{lib_name}.\", f\"{lib_name}-\"))", "vllm-2026-07"},
  }));
  Snapshot snapshot = make_python();
  snapshot.python.distributions = {
      {"vllm", "0.0.1", kSite}, {"sglang", "0.0.1", kSite}, {"flashinfer-python", "0.0.1", kSite}};
  add_source(snapshot, kSite + "/vllm/distributed/device_communicators/cuda_wrapper.py",
             "from x import find_loaded_library\n");
  add_source(snapshot, kSite + row.file, row.text);
  const auto found = consumer(snapshot, row.id);
  CAPTURE(row.text);
  CHECK(found.vintage == row.vintage);
  CHECK(found.vintage_from.find("text of ...") != std::string::npos);
}

TEST_CASE("vLLM's longer list of bound names is a vintage of its own") {
  Snapshot snapshot = make_python();
  add_source(snapshot, kSite + "/vllm/utils/system_utils.py",
             kSearch + "startswith((f\"{lib_name}.\", f\"{lib_name}-\"))");
  const std::string wrapper = kSite + "/vllm/distributed/device_communicators/cuda_wrapper.py";
  CHECK(consumer(snapshot, "vllm").vintage == "vllm-2026-07");
  add_source(snapshot, wrapper,
             "    exported_functions = [\n Function(\"cudaHostRegister\"),\n    ]\n");
  CHECK(consumer(snapshot, "vllm").vintage == "vllm-2026-10");
  add_source(snapshot, wrapper,
             "    exported_functions = [\n    ]\n \"cudaHostRegister\": \"hipHostRegister\"");
  CHECK(consumer(snapshot, "vllm").vintage == "vllm-2026-07");
}

TEST_CASE("without the text the version gives the vintage") {
  struct Row {
    const char* distribution;
    const char* version;
    const char* id;
    const char* vintage;
  };
  const Row row = GENERATE(values<Row>({
      {"vllm", "0.25.1", "vllm", "vllm-legacy"},
      {"vllm", "0.26.0", "vllm", "vllm-2026-07"},
      {"vllm", "0.30.0", "vllm", "vllm-2026-07"},
      {"vllm", "0.31.0", "vllm", "vllm-2026-10"},
      {"vllm", "0.26.0.dev12+gabc", "vllm", ""},
      {"sglang", "0.5.15.post1", "sglang", "sglang-legacy"},
      {"sglang", "0.5.16", "sglang", "sglang-2026-07"},
      {"flashinfer-python", "0.6.13", "flashinfer", "flashinfer-legacy-rt10"},
      {"flashinfer-python", "0.6.16.post4", "flashinfer", "flashinfer-legacy-rt10"},
      {"flashinfer-python", "0.6.17", "flashinfer", "flashinfer-legacy-rt11"},
      {"flashinfer-python", "0.7.0.post1", "flashinfer", "flashinfer-legacy-rt11"},
      {"flashinfer-python", "0.7.1", "flashinfer", "flashinfer-2026-09"},
      {"tilelang", "0.1.7.post2", "tilelang", ""},
      {"tilelang", "0.1.8", "tilelang", "tilelang-stub-0.1.8"},
      {"tilelang", "0.1.9", "tilelang", "tilelang-stub-0.1.9"},
      {"tilelang", "0.1.15", "tilelang", "tilelang-stub"},
      {"torch", "2.11.0+cu130", "torch", "torch-elf"},
      {"nvidia-cudnn-frontend", "1.13.0", "cudnn-frontend", ""},
      {"nvidia-cudnn-frontend", "1.24.1", "cudnn-frontend", "cudnn-frontend"},
      {"nvidia-cudnn-frontend", "1.25.0", "cudnn-frontend", "cudnn-frontend-2026-06"},
  }));
  Snapshot snapshot = make_python();
  snapshot.python.distributions = {{row.distribution, row.version, kSite}};
  CAPTURE(row.distribution, row.version);
  CHECK(consumer(snapshot, row.id).vintage == row.vintage);
}

TEST_CASE("the mapped shim's text outranks TileLang's version") {
  Snapshot snapshot = make_python();
  snapshot.python.distributions = {{"tilelang", "0.1.15", kSite}};
  ContentScan content;
  content.markers = {"TileLang Error: libcudart symbols not found globally."};
  map_object(snapshot, kSite + "/tilelang/lib/libcudart_stub.so", content);
  auto elf = make_lookalike("libcudart_stub.so").elf;
  snapshot.objects[0].elf = Fact<ElfFacts>::known(elf);
  const auto found = consumer(snapshot, "tilelang");
  CHECK(found.vintage == "tilelang-stub-0.1.8");
  CHECK(found.vintage_from == "text of .../lib/libcudart_stub.so");
}

TEST_CASE("cuDNN's front end inside another extension is found by its texts") {
  Snapshot snapshot = make_python();
  ContentScan content;
  content.markers = {"Multiple libcudart libraries found"};
  map_object(snapshot, kSite + "/transformer_engine/te.so", content);
  CHECK(consumer(snapshot, "cudnn-frontend").presence == Presence::present);
  CHECK(consumer(snapshot, "cudnn-frontend").vintage == "cudnn-frontend");
  snapshot.objects[0].content.get()->markers.emplace_back("CUDNN_FRONTEND_CUDART_LIB_NAME");
  CHECK(consumer(snapshot, "cudnn-frontend").vintage == "cudnn-frontend-2026-06");
}

TEST_CASE("a program that searches for telling texts is none of those it searches for") {
  Snapshot snapshot = make_python();
  ContentScan content;
  content.markers = {kMarkerTexts.begin(), kMarkerTexts.end()};
  content.yardstick = {kYardstickTexts.begin(), kYardstickTexts.end()};
  map_object(snapshot, "/usr/bin/cudart-doctor", content);
  for (const auto& found : find_consumers(snapshot)) {
    CHECK(found.presence == Presence::absent);
    CHECK(found.vintage.empty());
  }
}

TEST_CASE("a test case can say that an object has cuDNN's front end in it") {
  Snapshot snapshot;
  map_object(snapshot, "/x/ext.so");
  snapshot.objects[0].uses_rules = {"cudnn-fe"};
  const auto found = consumer(snapshot, "cudnn-frontend");
  CHECK(found.presence == Presence::present);
  CHECK(found.vintage.empty());
}

TEST_CASE("packages beside the scanning consumers are found by any of their names") {
  Snapshot snapshot = make_python();
  snapshot.python.distributions = {{"cupy-cuda13x", "14.2.0", kSite},
                                   {"sgl-kernel", "0.3.21", kSite},
                                   {"cuda-pathfinder", "1.6.1", kSite},
                                   {"numba-cuda", "0.30.4", kSite}};
  map_object(snapshot, kSite + "/torch_memory_saver_hook_mode_preload_cu13.abi3.so");
  map_object(snapshot, kSite + "/cuda/bindings/_bindings/cydriver.cpython-312.so");
  CHECK(consumer(snapshot, "cupy").version == "14.2.0");
  CHECK(consumer(snapshot, "sglang-kernel").version == "0.3.21");
  CHECK(consumer(snapshot, "sglang-kernel").vintage.empty());
  CHECK(consumer(snapshot, "numba-cuda").presence == Presence::present);
  CHECK(consumer(snapshot, "cuda-pathfinder").vintage == "cuda-pathfinder-1.5");
  CHECK(consumer(snapshot, "torch-memory-saver").presence == Presence::present);
  CHECK(consumer(snapshot, "cuda-bindings").presence == Presence::present);
  CHECK(consumer(snapshot, "vllm").presence == Presence::absent);
}

TEST_CASE("cuda-pathfinder's vintage by version") {
  const std::pair<const char*, const char*> rows[] = {{"1.0.0", "cuda-pathfinder-1.0"},
                                                      {"1.1.0", "cuda-pathfinder-1.0"},
                                                      {"1.2.0", "cuda-pathfinder-1.2"},
                                                      {"1.4.4", "cuda-pathfinder-1.2"},
                                                      {"1.5.0", "cuda-pathfinder-1.5"},
                                                      {"1.7.0", "cuda-pathfinder-1.5"},
                                                      {"1.8.0", "cuda-pathfinder"},
                                                      {"1.9.1", "cuda-pathfinder"},
                                                      {"1.9.2.dev3", ""}};
  for (const auto& [version, vintage] : rows) {
    Snapshot snapshot = make_python();
    snapshot.python.distributions = {{"cuda-pathfinder", version, kSite}};
    INFO(version);
    CHECK(consumer(snapshot, "cuda-pathfinder").vintage == vintage);
  }
}

TEST_CASE("sglang-kernel's vintage by the text that looks for the runtime") {
  const std::string global = "ctypes.CDLL(str(lib), mode=ctypes.RTLD_GLOBAL)\n";
  const std::string utils = kSite + "/sgl_kernel/load_utils.py";
  const std::string init = kSite + "/sgl_kernel/__init__.py";
  struct Row {
    std::string path;
    std::string text;
    const char* vintage;
  };
  const Row rows[] = {
      {utils, "candidate = base / f\"libcudart.so.{lib_version}\"\n" + global,
       "sglang-kernel-preload"},
      {utils, "candidate = base / \"libcudart.so.12\"\n" + global, "sglang-kernel-preload-12"},
      {utils, "(cuda_path / \"libcudart.so.12\").resolve()\n" + global,
       "sglang-kernel-preload-lib"},
      {init, "\"/usr/local/cuda/targets/x86_64-linux/lib/libcudart.so.12\",\n" + global,
       "sglang-kernel-preload-fixed"},
      {utils, "base / \"libcudart.so.14\"\n" + global, ""},
  };
  for (const Row& row : rows) {
    Snapshot snapshot = make_python();
    snapshot.python.distributions = {{"sglang-kernel", "0.4.0", kSite}};
    add_source(snapshot, row.path, row.text);
    INFO(row.text);
    CHECK(consumer(snapshot, "sglang-kernel").vintage == row.vintage);
  }
}
