// Names of Python's installation layout.
#include "cudart_doctor/collect/python_names.hpp"

#include "cudart_doctor/collect/python_env.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("metadata names give the normalised distribution and its version") {
  struct Row {
    const char* name;
    const char* distribution;
    const char* version;
  };
  const Row row = GENERATE(
      Row{"vllm-0.9.1.dist-info", "vllm", "0.9.1"},
      Row{"nvidia_cuda_runtime_cu12-12.8.90.dist-info", "nvidia-cuda-runtime-cu12", "12.8.90"},
      Row{"torch-2.7.0+cu128.dist-info", "torch", "2.7.0+cu128"},
      Row{"Zope.Interface__x-1.dist-info", "zope-interface-x", "1"},
      Row{"foo-bar-1.0.dist-info", "foo-bar", "1.0"}, Row{"foo-1.0-py3.11.egg-info", "foo", "1.0"},
      Row{"foo.egg-info", "foo", ""},
      Row{"sglang-0.5.9.post1-py3-none-any.egg-info", "sglang", "0.5.9.post1"});
  const auto found = parse_metadata_name(row.name);
  REQUIRE(found);
  CHECK(found->first == row.distribution);
  CHECK(found->second == row.version);
}

TEST_CASE("other names are no metadata") {
  const auto* name = GENERATE("torch", "torch-2.7.0", ".dist-info", "x.egg-link");
  CHECK_FALSE(parse_metadata_name(name));
}

TEST_CASE("the site directory of a mapped path ends with the packages folder") {
  CHECK(site_directory_of("/v/lib/python3.11/site-packages/torch/lib/libc10.so") ==
        "/v/lib/python3.11/site-packages");
  CHECK(site_directory_of("/usr/lib/python3/dist-packages/x.so") ==
        "/usr/lib/python3/dist-packages");
  CHECK_FALSE(site_directory_of("/usr/lib/libc.so.6"));
}

TEST_CASE("a Python version is read from interpreter, library and folder names") {
  CHECK(python_version_in("python3.11") == "3.11");
  CHECK(python_version_in("libpython3.12.so.1.0") == "3.12");
  CHECK(python_version_in("/opt/python/lib/python3.9/x") == "3.9");
  CHECK_FALSE(python_version_in("python3"));
  CHECK_FALSE(python_version_in("/usr/bin/perl"));
}

TEST_CASE("interpreter names are told from programs that begin alike") {
  CHECK(is_python_name("python"));
  CHECK(is_python_name("python3.13t"));
  CHECK_FALSE(is_python_name("python3-config"));
  CHECK_FALSE(is_python_name("pythonw-thing"));
}

TEST_CASE("pyvenv.cfg of venv, virtualenv and uv is understood") {
  const auto venv =
      parse_pyvenv_cfg("home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n");
  CHECK(venv.home == "/usr/bin");
  CHECK(venv.version == "3.11");
  CHECK(venv.system_sites);
  const auto uv = parse_pyvenv_cfg("home=/opt/py/bin\nuv = 0.4\nversion_info = 3.12.3.final.0");
  CHECK(uv.version == "3.12");
  CHECK_FALSE(uv.system_sites);
  CHECK(parse_pyvenv_cfg("\x00\xff=garbage").home.empty());
}

namespace {

LoadedObject mapped(std::string path) {
  LoadedObject object;
  object.paths = {std::move(path)};
  object.executable = true;
  return object;
}

}  // namespace

TEST_CASE("the names of mapped files tell of Python, deleted ones too") {
  const PythonSigns signs = find_python_signs(
      {mapped("/a/site-packages/x.so"), mapped("/b/site-packages/y.so"),
       mapped("/usr/lib/libpython3.11.so.1.0 (deleted)"), mapped("/b/site-packages/z/z.so")});
  CHECK(signs.library);
  CHECK(signs.version == "3.11");
  CHECK(signs.sites == std::vector<std::string>{"/b/site-packages", "/a/site-packages"});
}

TEST_CASE("a libpython that is only mapped as data is none that runs") {
  LoadedObject data = mapped("/usr/lib/libpython3.11.so.1.0");
  data.executable = false;
  CHECK_FALSE(find_python_signs({data}).library);
}
