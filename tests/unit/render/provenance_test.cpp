// Who brought a runtime and who uses it, in words and in JSON.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "render/provenance_phrases.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"
#include "support/report_parts.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

/// Two runtimes, and two libraries that may need or use them.
struct World {
  Report report = base_report();
  std::size_t torch = 0;
  std::size_t c10 = 0;

  World() {
    add_runtime(report, RuntimeKind::genuine, "/a/libcudart.so.12", 0x1000);
    add_runtime(report, RuntimeKind::genuine, "/b/libcudart.so.12", 0x2000);
    torch = add_object(report, "/t/libtorch_cuda.so", 0x3000);
    c10 = add_object(report, "/t/libc10_cuda.so", 0x4000);
    report.provenance.resize(2);
    for (Provenance& each : report.provenance) each.load_order = 1;
  }
  [[nodiscard]] std::string phrases(std::size_t candidate, std::size_t most = 1) const {
    return join(provenance_phrases(report, candidate, most), "; ");
  }
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(render_json(report)); }
};

}  // namespace

TEST_CASE("who needs a runtime is named, the others are counted") {
  World world;
  Provenance& own = world.report.provenance[0];
  own.arrival = Arrival::needed;
  own.needed_by = {{world.torch, "libcudart.so.12"}, {world.c10, "libcudart.so.12"}};
  CHECK(world.phrases(0) == "needed by libtorch_cuda.so and 1 more");
  CHECK(world.phrases(0, SIZE_MAX) == "needed by libtorch_cuda.so, libc10_cuda.so");
  CHECK(world.phrases(1).empty());
}

TEST_CASE("arrivals other than a need have words of their own") {
  World world;
  Provenance& own = world.report.provenance[0];
  own.arrival = Arrival::opened;
  CHECK(world.phrases(0) == "dlopened, no library lists it");
  own.arrival = Arrival::preload;
  own.arrival_note = "LD_PRELOAD";
  CHECK(world.phrases(0) == "preloaded: LD_PRELOAD");
  own.loader_namespace = 2;
  CHECK(world.phrases(0) == "preloaded: LD_PRELOAD; in loader namespace 2 (dlmopen)");
}

TEST_CASE("load order is told where addresses have another") {
  World world;
  world.report.provenance[0].load_order = 9;
  world.report.provenance[1].load_order = 4;
  CHECK(world.phrases(0) == "2nd in load order");
  CHECK(world.phrases(1) == "1st in load order");
  world.report.provenance[1].load_order = 12;
  CHECK(world.phrases(0).empty());
}

TEST_CASE("who uses most names comes first") {
  World world;
  world.report.provenance[0].used_by = {{world.c10, {"cudaFree"}},
                                        {world.torch, {"cudaFree", "cudaMalloc"}}};
  CHECK(world.phrases(0) == "used by libtorch_cuda.so (2 names) and 1 more");
  CHECK(world.phrases(0, 2) == "used by libtorch_cuda.so (2 names), libc10_cuda.so (1 name)");
}

TEST_CASE("the JSON names who needs and who uses a runtime") {
  World world;
  Provenance& own = world.report.provenance[0];
  own.arrival = Arrival::needed;
  own.needed_by = {{world.torch, "libcudart.so.12"}};
  own.used_by = {{world.c10, {"cudaMalloc"}}};
  const auto runtime = world.json()["runtimes"][0];
  CHECK(runtime["arrival"] == "needed");
  CHECK(runtime["load_order"] == 1);
  CHECK(runtime["needed_by"][0]["path"] == "/t/libtorch_cuda.so");
  CHECK(runtime["needed_by"][0]["soname"] == "libcudart.so.12");
  CHECK(runtime["used_by"][0]["path"] == "/t/libc10_cuda.so");
  CHECK(runtime["used_by"][0]["names"][0] == "cudaMalloc");
}

TEST_CASE("slots that could not be read make the users unknown, not none") {
  World world;
  world.report.snapshot.objects[world.torch].slots =
      Fact<std::vector<Slot>>::unknown("no permission");
  const auto runtime = world.json()["runtimes"][0];
  CHECK(runtime["used_by"].is_null());
  CHECK(runtime["used_by_reason"] == "no permission");
}

TEST_CASE("users are unknown, not none, where a library's names were not read") {
  World world;
  Report& report = world.report;
  for (LoadedObject& object : report.snapshot.objects) {
    object.executable = true;
    ElfFacts elf;
    elf.symbols_walked = true;
    object.elf = Fact<ElfFacts>::known(elf);
  }
  report.candidates[0].loaded = true;
  CHECK(world.json()["runtimes"][0]["used_by"] == nlohmann::json::array());
  report.snapshot.objects[world.torch].elf = Fact<ElfFacts>::known({});
  CHECK(world.json()["runtimes"][0]["used_by"].is_null());
  CHECK_THAT(world.json()["runtimes"][0]["used_by_reason"].get<std::string>(),
             ContainsSubstring("1 loaded library") && ContainsSubstring("--deep"));
}

TEST_CASE("one file in two loader namespaces is said to be loaded twice") {
  World world;
  const auto object = world.report.candidates[0].object;
  REQUIRE(object);
  const LinkEntry entry{0, "/x", static_cast<std::uint32_t>(*object)};
  world.report.snapshot.link_map =
      Fact<std::vector<LinkNamespace>>::known({{0, {entry}, {}}, {1, {entry}, {}}});
  CHECK(world.phrases(0) == "loaded 2 times, in as many loader namespaces (dlmopen)");
}

TEST_CASE("a name of global scope has its definer, or all that could be it") {
  World world;
  world.report.global_names = {
      {.name = "cudaMalloc", .definer = 0, .version = "libcudart.so.12", .possible = {}},
      {.name = "cudaFree", .definer = {}, .version = {}, .possible = {0, world.c10}},
      {.name = "cudaMemset", .definer = {}, .version = {}, .possible = {}}};
  const auto names = world.json()["global_names"];
  CHECK(names[0]["definer"] == "/a/libcudart.so.12");
  CHECK(names[0]["runtime"] == "A");
  CHECK(names[0]["version"] == "libcudart.so.12");
  CHECK(names[1]["definer"].is_null());
  CHECK(names[1]["possible"].size() == 2);
  CHECK(names[2]["definer_reason"] == "no loaded object defines it");
}
