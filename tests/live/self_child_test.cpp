// The child that stands for this environment: what it opens, and how it fails.
#include "cudart_doctor/sys/self_child.hpp"

#include <cstdlib>
#include <filesystem>

#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;

namespace {

SelfChildOptions options_for(std::vector<std::string> load) {
  SelfChildOptions options;
  options.load = std::move(load);
  options.executable = LIVE_SELF_TARGET;
  return options;
}

/// LD_LIBRARY_PATH for as long as it lives.
class LibraryPath {
 public:
  explicit LibraryPath(const std::string& value) { ::setenv("LD_LIBRARY_PATH", value.c_str(), 1); }
  ~LibraryPath() { ::unsetenv("LD_LIBRARY_PATH"); }
  LibraryPath(const LibraryPath&) = delete;
  LibraryPath& operator=(const LibraryPath&) = delete;
};

}  // namespace

TEST_CASE("the loader's first runtime is opened, the newest name asked first") {
  Scratch scratch;
  static_cast<void>(scratch.copy_toy("toy_cudart12", "libcudart.so.12"));
  static_cast<void>(scratch.copy_toy("toy_cudart13", "libcudart.so.13"));
  LibraryPath path(scratch.path(""));
  auto child = start_self_child(options_for({}));
  REQUIRE(child);
  REQUIRE(child->open_runtime());
  CHECK(child->runtime() == "libcudart.so.13");
  auto snapshot = live::capture(child->pid());
  REQUIRE(snapshot);
  const auto* object = live::object_at(*snapshot, scratch.path("libcudart.so.13"));
  REQUIRE(object != nullptr);
  CHECK(object->executable);
  CHECK(live::object_at(*snapshot, scratch.path("libcudart.so.12")) == nullptr);
  // The caller maps none of them.
  CHECK(live::read_text("/proc/self/maps").find("cudart.so") == std::string::npos);
}

TEST_CASE("libraries are opened in order, and a failure carries dlerror's text") {
  Scratch scratch;
  LibraryPath path(scratch.path(""));
  auto child = start_self_child(options_for({live::toy("toy_stub"), "/no/such/library.so"}));
  REQUIRE(child);
  REQUIRE(child->loads().size() == 2);
  CHECK(child->loads()[0].loaded);
  CHECK_FALSE(child->loads()[1].loaded);
  CHECK_THAT(child->loads()[1].error, ContainsSubstring("/no/such/library.so"));
}

TEST_CASE("one more path can be opened later") {
  Scratch scratch;
  LibraryPath path(scratch.path(""));
  auto child = start_self_child(options_for({}));
  REQUIRE(child);
  auto load = child->open(live::toy("toy_cudart12"));
  REQUIRE(load);
  CHECK(load->loaded);
  auto snapshot = live::capture(child->pid());
  REQUIRE(snapshot);
  CHECK(live::object_with_soname(*snapshot, "libcudart.so.12") != nullptr);
}

TEST_CASE("a library that ends the child is named with the signal") {
  auto child = start_self_child(options_for({live::toy("toy_crash")}));
  REQUIRE_FALSE(child);
  CHECK(child.error().kind == ErrorKind::io);
  CHECK_THAT(child.error().message, ContainsSubstring("toy_crash.so"));
  CHECK_THAT(child.error().message, ContainsSubstring("SIGABRT"));
}

TEST_CASE("a library that never returns is named at the deadline") {
  auto options = options_for({live::toy("toy_hang")});
  options.deadline = std::chrono::milliseconds(300);
  auto child = start_self_child(options);
  REQUIRE_FALSE(child);
  CHECK(child.error().kind == ErrorKind::timeout);
  CHECK_THAT(child.error().message, ContainsSubstring("toy_hang.so"));
}

TEST_CASE("the child has the caller's environment") {
  Scratch scratch;
  LibraryPath path(scratch.path(""));
  ::setenv("DOCTOR_TEST", "as it is", 1);
  auto child = start_self_child(options_for({}));
  ::unsetenv("DOCTOR_TEST");
  REQUIRE(child);
  REQUIRE(child->open_runtime());
  auto snapshot = live::capture(child->pid());
  REQUIRE(snapshot);
  REQUIRE(snapshot->environment.is_known());
  const auto* value = snapshot->environment.get()->find("DOCTOR_TEST");
  REQUIRE(value != nullptr);
  CHECK(*value == "as it is");
}
