// The Python environment is found from paths, links and pyvenv.cfg, without running anything.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;
using live::Victim;

namespace {

std::string make_venv(const Scratch& scratch, std::string_view name) {
  const std::string root = scratch.path(name);
  std::filesystem::create_directories(root + "/bin");
  std::filesystem::create_directories(root + "/lib/python3.11/site-packages/vllm-0.9.1.dist-info");
  std::filesystem::create_directories(root +
                                      "/lib/python3.11/site-packages/Foo_Bar-1.0-py3.11.egg-info");
  live::write_text(root + "/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
  live::write_text(root + "/bin/python", "#!/bin/true\n");
  ::chmod((root + "/bin/python").c_str(), 0755);
  return root;
}

Snapshot capture_with(const Victim& victim, const std::string& python) {
  CaptureOptions options;
  options.pid = victim.pid();
  options.python = python;
  auto snapshot = capture_process(options, live::rules());
  REQUIRE(snapshot);
  return std::move(*snapshot);
}

}  // namespace

TEST_CASE("a program that is no Python has the active environment of its variables") {
  Scratch scratch;
  const auto venv = make_venv(scratch, "venv");
  Victim victim([&] { ::setenv("VIRTUAL_ENV", venv.c_str(), 1); });
  const auto python = capture_with(victim, "").python;
  CHECK_FALSE(python.is_python);
  CHECK(python.chosen_by == "VIRTUAL_ENV");
  REQUIRE_FALSE(python.site_directories.empty());
  CHECK(python.site_directories[0] == venv + "/lib/python3.11/site-packages");
  REQUIRE(python.distributions.size() == 2);
  CHECK(python.distributions[0].name == "foo-bar");
  CHECK(python.distributions[0].version == "1.0");
  CHECK(python.distributions[1].name == "vllm");
  CHECK(python.distributions[1].version == "0.9.1");
}

TEST_CASE("--python wins over the variables") {
  Scratch scratch;
  const auto first = make_venv(scratch, "first");
  const auto second = make_venv(scratch, "second");
  Victim victim([&] { ::setenv("VIRTUAL_ENV", first.c_str(), 1); });
  const auto python = capture_with(victim, second + "/bin/python").python;
  CHECK(python.chosen_by == "--python");
  REQUIRE_FALSE(python.site_directories.empty());
  CHECK(python.site_directories[0] == second + "/lib/python3.11/site-packages");
}

TEST_CASE("a shim on PATH leads to the version that pyenv names") {
  Scratch scratch;
  const auto root = scratch.path("pyenv");
  std::filesystem::create_directories(root + "/shims");
  std::filesystem::create_directories(root + "/versions/3.12.1/bin");
  std::filesystem::create_directories(root + "/versions/3.12.1/lib/python3.12/site-packages");
  for (const auto& path : {root + "/shims/python3", root + "/versions/3.12.1/bin/python3"}) {
    live::write_text(path, "#!/bin/true\n");
    ::chmod(path.c_str(), 0755);
  }
  Victim victim([&] {
    ::unsetenv("VIRTUAL_ENV");
    ::unsetenv("CONDA_PREFIX");
    ::unsetenv("PYENV_VERSION");
    ::setenv("PYENV_ROOT", root.c_str(), 1);
    ::setenv("PATH", (root + "/shims:/usr/bin").c_str(), 1);
  });
  SECTION("by its version file") {
    live::write_text(root + "/version", "3.12.1\n");
    const auto python = capture_with(victim, "").python;
    CHECK(python.chosen_by == "python3 on PATH");
    CHECK(std::count(python.site_directories.begin(), python.site_directories.end(),
                     root + "/versions/3.12.1/lib/python3.12/site-packages") == 1);
  }
  SECTION("without one the environment is not guessed") {
    const auto snapshot = capture_with(victim, "");
    CHECK(snapshot.python.chosen_by.empty());
    CHECK_THAT(snapshot.capture.notes.back(), ContainsSubstring("shim"));
  }
}

TEST_CASE("a CUDA library in a wheel's folder is installed, its links are not others") {
  Scratch scratch;
  const auto venv = make_venv(scratch, "venv");
  const auto site = venv + "/lib/python3.11/site-packages";
  const auto folder = site + "/nvidia/cuda_runtime/lib";
  std::filesystem::create_directories(folder);
  live::copy_file(live::toy("toy_cudart12"), folder + "/libcudart.so.12");
  std::filesystem::create_symlink("libcudart.so.12", folder + "/libcudart.so");
  Victim victim([&] { ::setenv("VIRTUAL_ENV", venv.c_str(), 1); });
  const auto in_folder = [&](const Snapshot& snapshot) {
    return std::count_if(
        snapshot.installed.begin(), snapshot.installed.end(),
        [&](const auto& file) { return file.path == folder + "/libcudart.so.12"; });
  };
  auto snapshot = capture_with(victim, "");
  CHECK(in_folder(snapshot) == 1);
  REQUIRE(snapshot.disk.at(folder + "/libcudart.so.12").elf.is_known());
  CHECK(snapshot.installed.front().found_by == "python environment");
  // Once mapped it is an object, not an installed file.
  REQUIRE(victim.tell("dlopen", folder + "/libcudart.so") == "ready");
  snapshot = capture_with(victim, "");
  CHECK(in_folder(snapshot) == 0);
  CHECK(live::object_at(snapshot, folder + "/libcudart.so.12") != nullptr);
}
