// The full symbol walk: census, names, version nodes, cuInit's code.
#include <string>

#include "cudart_doctor/formats/elf.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;
using namespace std::string_literals;

namespace {

ElfFacts walk(const BuiltElf& elf) {
  MemorySource source(elf.bytes);
  auto reader = ElfReader::open(source, ElfImage::file);
  REQUIRE(reader);
  ElfFacts facts = reader->read_facts();
  reader->walk_symbols(facts);
  return facts;
}

std::optional<bool> cu_init(const std::string& code, std::uint16_t machine) {
  ElfSpec spec;
  spec.machine = machine;
  spec.symbols = {{.name = "cuInit"}};
  spec.code = code;
  return walk(build_elf(spec)).cu_init_is_constant;
}

}  // namespace

TEST_CASE("API names belong to families by their prefix and a capital") {
  for (const char* name : {"cudaMalloc", "__cudaRegisterFatBinary", "cuInit", "nvrtcVersion",
                           "nvmlInit_v2", "hipMalloc"}) {
    CHECK(is_cuda_api_name(name));
  }
  for (const char* name : {"cudart", "cublasCreate", "cu", "cuda", "cudbgApiInit", "nvrtc", "nvmlx",
                           "hipblasCreate", "hiprtcVersion", "_cudaMalloc", "", "customize"}) {
    CHECK_FALSE(is_cuda_api_name(name));
  }
}

TEST_CASE("the census counts defined functions by family") {
  for (const auto hash : {ElfHash::gnu, ElfHash::sysv, ElfHash::both}) {
    ElfSpec spec;
    spec.hash = hash;
    spec.symbols = {
        {.name = "cudaMalloc"},
        {.name = "__cudaRegisterFunction"},
        {.name = "cuInit", .type = 10},
        {.name = "cuMemAlloc_v2", .binding = 2},
        {.name = "nvrtcVersion"},
        {.name = "nvmlInit_v2"},
        {.name = "hipMalloc"},
        {.name = "cudaObject", .type = 1},
        {.name = "libcudart.so.12", .type = 1, .absolute = true},
        {.name = "cudaLocal", .binding = 0},
        {.name = "cudaFree", .defined = false},
        {.name = "helper"},
    };
    const ElfFacts facts = walk(build_elf(spec));
    CHECK(facts.symbols_walked);
    CHECK(facts.census.runtime == 2);
    CHECK(facts.census.driver == 2);
    CHECK(facts.census.nvrtc == 1);
    CHECK(facts.census.nvml == 1);
    CHECK(facts.census.hip == 1);
    CHECK(facts.defined_symbols == 10);
    CHECK(facts.exports == std::vector<std::string>{"__cudaRegisterFunction", "cuInit",
                                                    "cuMemAlloc_v2", "cudaMalloc", "cudaObject",
                                                    "hipMalloc", "nvmlInit_v2", "nvrtcVersion"});
    REQUIRE(facts.undefined.size() == 1);
    CHECK(facts.undefined[0].name == "cudaFree");
    CHECK(facts.damage.empty());
  }
}

TEST_CASE("an undefined name carries the node that it asks for") {
  ElfSpec spec;
  spec.version_needs = {{"libcudart.so.12", {"libcudart.so.12"}}, {"libc.so.6", {"GLIBC_2.2.5"}}};
  spec.symbols = {{.name = "cudaMalloc", .defined = false, .version = "libcudart.so.12"},
                  {.name = "cudaFree", .defined = false},
                  {.name = "own"}};
  const ElfFacts facts = walk(build_elf(spec));
  REQUIRE(facts.undefined.size() == 2);
  CHECK(facts.undefined[0].version == "libcudart.so.12");
  CHECK(facts.undefined[1].version.empty());
}

TEST_CASE("a weak name that is not defined is asked of nobody") {
  ElfSpec spec;
  spec.symbols = {{.name = "cuInit", .defined = false, .binding = 2},
                  {.name = "cuMemAlloc_v2", .defined = false}};
  const ElfFacts facts = walk(build_elf(spec));
  REQUIRE(facts.undefined.size() == 1);
  CHECK(facts.undefined[0].name == "cuMemAlloc_v2");
}

TEST_CASE("names are listed where nothing is exported and the hash table is empty") {
  ElfSpec spec;
  spec.symbols = {{.name = "cudaMalloc", .defined = false}, {.name = "cuInit", .defined = false}};
  const ElfFacts facts = walk(build_elf(spec));
  CHECK(facts.undefined.size() == 2);
  CHECK(facts.defined_symbols == 0);
}

TEST_CASE("a cuInit that only returns a constant is recognised") {
  const std::string constant[] = {
      "\xb8\x22\0\0\0\xc3"s,                      // mov eax, 34; ret
      "\xf3\x0f\x1e\xfa\xb8\x22\0\0\0\xc3"s,      // endbr64 first
      "\x55\x48\x89\xe5\xb8\x22\0\0\0\x5d\xc3"s,  // unoptimised, no argument
      "\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x89\x7d\xfc\xb8\x22\0\0\0\x5d\xc3"s,
      "\x55\x48\x89\xe5\x48\x89\x7d\xf8\x89\x75\xf4\xb8\x22\0\0\0\xc9\xc3"s,
      "\x31\xc0\xc3"s,  // xor eax, eax; ret
  };
  for (const std::string& code : constant) CHECK(cu_init(code, 62) == true);
  const std::string real[] = {
      "\x48\x83\xec\x08\xe8\0\0\0\0\xb8\x22\0\0\0\xc3"s,  // calls something
      "\xb8\x22\0\0\0\x90\x90"s,
      "\x55\x48\x89\xe5\xb8\x22\0\0\0\xc3"s,  // frame never left
      "\xb8\x22\0"s,                          // cut
      "\xff\x25\0\0\0\0"s,                    // trampoline
  };
  for (const std::string& code : real) CHECK(cu_init(code, 62) == false);
  CHECK(cu_init("\x40\x04\x80\x52\xc0\x03\x5f\xd6"s, 183) == true);  // mov w0, #34; ret
  CHECK(cu_init("\xff\x43\0\xd1\xe0\x0f\0\xb9\x40\x04\x80\x52\xff\x43\0\x91\xc0\x03\x5f\xd6"s,
                183) == true);                                    // with a frame
  CHECK(cu_init("\x01\0\0\x94\xc0\x03\x5f\xd6"s, 183) == false);  // bl
  CHECK(cu_init("\xc0\x03\x5f\xd6"s, 183) == false);              // returns its argument
  CHECK(cu_init("\xb8\x22\0\0\0\xc3"s, 243) == false);            // another machine
  CHECK_FALSE(cu_init("", 62));                                   // no code there
}
