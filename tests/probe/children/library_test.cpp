// Whose symbol is it? Toy libraries, one of which needs another.
#include "cudart_doctor/cuda/library.hpp"

#include "support/catch.hpp"

using cudart_doctor::ErrorKind;
using cudart_doctor::Library;

namespace {

Library open_own() {
  auto library = Library::open(PROBE_TOYS "/probe_toy_own.so");
  REQUIRE(library);
  return *library;
}

}  // namespace

TEST_CASE("a name that the object defines is found inside it") {
  const auto symbol = open_own().find("cudaMalloc");
  CHECK(symbol.address != nullptr);
  CHECK(symbol.elsewhere.empty());
}

TEST_CASE("a name of a library that the object needs is not the object's") {
  const auto symbol = open_own().find("cudaFree");
  CHECK(symbol.address == nullptr);
  CHECK_THAT(symbol.elsewhere, ContainsSubstring("probe_toy_dependency.so"));
}

TEST_CASE("a name that nobody defines is missing, not elsewhere") {
  const auto symbol = open_own().find("cudaDeviceReset");
  CHECK(symbol.address == nullptr);
  CHECK(symbol.elsewhere.empty());
}

TEST_CASE("without a preloaded library nothing is ahead") {
  CHECK(open_own().interposer("cudaMalloc").empty());
}

TEST_CASE("what global scope answers first is ahead") {
  // Of the C library, which every program has in global scope; the toy has no such name.
  CHECK_FALSE(open_own().interposer("getpid").empty());
}

TEST_CASE("a file that cannot be loaded gives the loader's text") {
  const auto library = Library::open("/nonexistent/libcudart.so.12");
  REQUIRE_FALSE(library);
  CHECK(library.error().kind == ErrorKind::malformed);
  CHECK_THAT(library.error().message, ContainsSubstring("/nonexistent/libcudart.so.12"));
}

TEST_CASE("an object that is not loaded yet is not loaded by asking") {
  CHECK_FALSE(Library::open_loaded("libprobe_never_loaded.so.1"));
}
