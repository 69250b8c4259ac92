// What findings say of the package that brought a library.
#include "cudart_doctor/analyze/file_owner.hpp"

#include "cudart_doctor/analyze/candidates.hpp"
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kStub = "/usr/local/cuda/lib64/stubs/libcuda.so";

World owned(World world, std::string_view path, FileOwner owner) {
  return world.with([path = std::string(path), owner](Snapshot& snapshot) {
    snapshot.owners[path] = Fact<FileOwner>::known(owner);
  });
}

std::string told(const World& world, std::string_view id) {
  const Report report = world.judge();
  for (const Finding& finding : report.findings) {
    if (finding.id == id) return join(finding.evidence, "\n") + "\n" + join(finding.fixes, "\n");
  }
  FAIL("no finding " << id);
  return {};
}

FileOwner wheel(std::string name, std::string version) {
  return {PackageKind::wheel, std::move(name), std::move(version)};
}

}  // namespace

TEST_CASE("each package manager has its own words and commands") {
  struct Row {
    PackageKind kind;
    const char* phrase;
    const char* reinstall;
    const char* upgrade;
    const char* remove;
  };
  const Row row = GENERATE(
      Row{PackageKind::wheel, "wheel p 1-2", "pip install --force-reinstall --no-deps p==1-2",
          "pip install -U p", "pip uninstall p"},
      Row{PackageKind::conda, "conda package p 1-2", "conda install --force-reinstall p=1-2",
          "conda update p", "conda remove p"},
      Row{PackageKind::dpkg, "Debian package p 1-2", "apt-get install --reinstall p",
          "apt-get install --only-upgrade p", "apt-get remove p"},
      Row{PackageKind::rpm, "rpm package p 1-2", "dnf reinstall p", "dnf upgrade p",
          "dnf remove p"});
  const FileOwner owner{row.kind, "p", "1-2"};
  CHECK(package_phrase(owner) == row.phrase);
  CHECK(package_command(owner, PackageStep::reinstall) == row.reinstall);
  CHECK(package_command(owner, PackageStep::upgrade) == row.upgrade);
  CHECK(package_command(owner, PackageStep::remove) == row.remove);
}

TEST_CASE("a name that a shell would not take as one word makes no command") {
  for (const std::string name : {"a b", "a;b", "$(a)", "-a", "a\n", "a'b", "\xff"}) {
    INFO(name);
    CHECK(package_command(wheel(name, "1"), PackageStep::reinstall).empty());
  }
}

TEST_CASE("without a sound version nothing is installed that might be another one") {
  for (const std::string version : {"", "1; x"}) {
    INFO(version);
    CHECK(package_command(wheel("p", version), PackageStep::reinstall).empty());
    CHECK(package_command({PackageKind::conda, "p", version}, PackageStep::reinstall).empty());
    CHECK(package_command({PackageKind::dpkg, "p", version}, PackageStep::reinstall) ==
          "apt-get install --reinstall p");
    CHECK(package_command(wheel("p", version), PackageStep::remove) == "pip uninstall p");
  }
}

TEST_CASE("nobody's file is news where packages put files, and nowhere else") {
  Snapshot snapshot;
  const auto nobody = Fact<FileOwner>::known({});
  snapshot.owners = {{"/usr/lib/libcuda.so.1", nobody},
                     {"/v/site-packages/p/libcudart.so.12", nobody},
                     {"/home/u/libcudart.so.12", nobody},
                     {"/usr/lib/unread.so", Fact<FileOwner>::unknown("refused")}};
  CHECK(is_unowned(snapshot, "/usr/lib/libcuda.so.1"));
  CHECK(is_unowned(snapshot, "/v/site-packages/p/libcudart.so.12"));
  CHECK_FALSE(is_unowned(snapshot, "/home/u/libcudart.so.12"));
  CHECK_FALSE(is_unowned(snapshot, "/usr/lib/unread.so"));
  CHECK_FALSE(is_unowned(snapshot, "/usr/lib/not_asked.so"));
  CHECK(find_owner(snapshot, "/usr/lib/libcuda.so.1") == nullptr);
}

TEST_CASE("a candidate's package is its owner, not what its folder suggests") {
  const std::string path = std::string(kSite) + "/tilelang/lib/libcudart_stub.so";
  const World world = World().python().package("tilelang", "0.1.11").library(path, shim());
  const auto package = [&](const World& with) {
    return find_candidates(with.snapshot()).front().package;
  };
  CHECK(package(world) == "tilelang 0.1.11");
  CHECK(package(owned(world, path, wheel("tilelang-fork", "9"))) == "tilelang-fork 9");
  CHECK(package(owned(world, path, {})).empty());
}

TEST_CASE("RT03 and RT04 name the release to install and the command of the owner") {
  const World mapped = World().library(kShim, shim()).library(kReal12, runtime12());
  for (const std::string_view id : {"RT03", "RT04"}) {
    CHECK_THAT(
        told(owned(mapped, kShim, wheel("tilelang", "0.1.11")), id),
        ContainsSubstring("TileLang 0.1.12 or later (pip install -U tilelang; here 0.1.11)"));
    CHECK_THAT(told(owned(mapped, kShim, wheel("bundle", "3")), id),
               !ContainsSubstring("-U bundle"));
  }
}

TEST_CASE("RT05 names the packages that brought the copies") {
  const World copies = World().library(kReal12, runtime12()).library(kOther12, runtime12());
  CHECK_THAT(told(copies, "RT05"), ContainsSubstring("one wheel or one toolkit"));
  const World known = owned(owned(copies, kReal12, wheel("nvidia-cuda-runtime-cu12", "12.8.90")),
                            kOther12, {PackageKind::dpkg, "cuda-cudart-12-8", "12.8.90-1"});
  CHECK_THAT(told(known, "RT05"),
             ContainsSubstring("of Debian package cuda-cudart-12-8 12.8.90-1 or wheel "
                               "nvidia-cuda-runtime-cu12 12.8.90"));
}

TEST_CASE("MP01 tells how to put a deleted file back") {
  const World lost =
      World().library(std::string(kReal12) + " (deleted)", runtime12()).file_is(FileState::deleted);
  CHECK_THAT(told(lost, "MP01"), ContainsSubstring("(reinstall its package)"));
  CHECK_THAT(told(owned(lost, kReal12, wheel("nvidia-cuda-runtime-cu12", "12.8.90")), "MP01"),
             ContainsSubstring("pip install --force-reinstall --no-deps "
                               "nvidia-cuda-runtime-cu12==12.8.90"));
}

TEST_CASE("DR01 names the stub's package, or that it has none") {
  const World stub = World().library(kStub, make_driver_stub(4096));
  CHECK_THAT(told(owned(stub, kStub, {PackageKind::dpkg, "cuda-driver-dev-12-8", "12.8"}), "DR01"),
             ContainsSubstring("apt-get remove cuda-driver-dev-12-8"));
  CHECK_THAT(told(owned(stub, kStub, {}), "DR01"), ContainsSubstring("No package owns"));
}
