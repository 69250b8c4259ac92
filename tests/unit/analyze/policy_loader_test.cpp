// dlopen of a bare name: each step of glibc's search, and what TileLang, cuDNN's front end and
// PyTorch make of it.
#include <algorithm>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kName = "libcudart.so.12";
constexpr std::string_view kApp = "/opt/app/bin/app";

ElfFacts runtime12() { return make_genuine_runtime("libcudart.so.12", "12.8").elf; }

ElfFacts for_machine(std::uint16_t machine) {
  ElfFacts elf = runtime12();
  elf.machine = machine;
  return elf;
}

/// A process of which everything is known: main program, no variables, an empty ld.so.cache, and
/// nothing in the default directories.
SnapshotBuilder process(std::string_view rpath = {}, std::string_view runpath = {}) {
  ElfFacts app = make_plain().elf;
  if (!rpath.empty()) app.rpath = std::string(rpath);
  if (!runpath.empty()) app.runpath = std::string(runpath);
  SnapshotBuilder builder(MapsText().library(kApp, 1));
  builder.executable_is(kApp).elf(kApp, app).link("", kApp).empty_env().empty_cache();
  return builder;
}

LoaderAnswer find(const Snapshot& snapshot) { return simulate_dlopen(snapshot, {kName, {}}); }

/// The fixture's "not said is absent" keeps the tables short; the place itself is under test.
std::string found_at(const SnapshotBuilder& builder) {
  const LoaderAnswer answer = find(builder.build());
  return answer.outcome == Outcome::not_found ? answer.error_text : answer.disk_path.value_or("");
}

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

}  // namespace

TEST_CASE("the first object in load order with the soname wins, not the lower address") {
  SnapshotBuilder builder(
      MapsText().library(kApp, 1).library("/low/libcudart.so.12", 2).library("/high/rt.so", 3));
  builder.live()
      .elf(kApp, make_plain().elf)
      .elf("/low/libcudart.so.12", runtime12())
      .elf("/high/rt.so", runtime12())
      .link("", kApp)
      .link("/high/rt.so", "/high/rt.so")
      .link("/low/libcudart.so.12", "/low/libcudart.so.12");
  const LoaderAnswer answer = find(builder.build());
  CHECK(answer.outcome == Outcome::selected);
  CHECK(answer.object == std::size_t{2});
  CHECK(answer.open == OpenOutcome::old_object);
}

TEST_CASE("libcudart.so does not match the soname libcudart.so.12") {
  SnapshotBuilder builder(MapsText().library("/r/libcudart.so.12", 2));
  builder.elf("/r/libcudart.so.12", runtime12());
  CHECK(simulate_dlopen(builder.build(), {"libcudart.so", {}}).outcome == Outcome::not_found);
}

TEST_CASE("two objects of one soname without a link map: only load order decides") {
  SnapshotBuilder builder(
      MapsText().library("/a/libcudart.so.12.6.77", 2).library("/b/libcudart.so.12", 3));
  builder.elf("/a/libcudart.so.12.6.77", runtime12()).elf("/b/libcudart.so.12", runtime12());
  const Selection selection = decide(builder.build(), "dt-needed:12");
  CHECK(selection.outcome == Outcome::undetermined);
  CHECK(selection.possible ==
        std::vector<std::string>{"/a/libcudart.so.12.6.77", "/b/libcudart.so.12"});
  CHECK_THAT(selection.open_note, ContainsSubstring("only load order decides"));
}

TEST_CASE("a read-only data mapping is not loaded") {
  SnapshotBuilder builder(MapsText().mapping("/r/libcudart.so.12", 2, "r--p"));
  builder.elf("/r/libcudart.so.12", runtime12());
  CHECK(find(builder.build()).outcome == Outcome::not_found);
}

TEST_CASE("an object of another loader namespace does not answer") {
  SnapshotBuilder builder(MapsText().library(kApp, 1).library("/r/libcudart.so.12", 2));
  builder.elf(kApp, make_plain().elf).elf("/r/libcudart.so.12", runtime12()).link("", kApp);
  CHECK(find(builder.build()).outcome == Outcome::not_found);
}

TEST_CASE("an object whose soname could not be read may be the answer") {
  SnapshotBuilder builder(MapsText().library("/r/libcudart.so.12", 2));
  builder.unread("/r/libcudart.so.12", "permission denied");
  CHECK(find(builder.build()).outcome == Outcome::undetermined);
}

TEST_CASE("RPATH comes before LD_LIBRARY_PATH, RUNPATH after it") {
  const auto with_files = [](SnapshotBuilder builder) {
    return builder.env("LD_LIBRARY_PATH", "/env")
        .disk("/own/libcudart.so.12", elf_file(20, runtime12()))
        .disk("/env/libcudart.so.12", elf_file(21, runtime12()));
  };
  CHECK(found_at(with_files(process("/own", ""))) == "/own/libcudart.so.12");
  CHECK(found_at(with_files(process("", "/own"))) == "/env/libcudart.so.12");
  // DT_RUNPATH switches DT_RPATH off.
  CHECK(found_at(with_files(process("/own", "/nowhere"))) == "/env/libcudart.so.12");
}

TEST_CASE("the steps of the search come in glibc's order") {
  SnapshotBuilder builder = process("", "/run");
  builder.env("LD_LIBRARY_PATH", "/env1:/env2");
  const char* const order[] = {"/usr/lib/libcudart.so.12",
                               "/lib/libcudart.so.12",
                               "/usr/lib64/libcudart.so.12",
                               "/lib64/libcudart.so.12",
                               "/usr/lib/x86_64-linux-gnu/libcudart.so.12",
                               "/lib/x86_64-linux-gnu/libcudart.so.12",
                               "/cached/libcudart.so.12",
                               "/run/libcudart.so.12",
                               "/env2/libcudart.so.12",
                               "/env1/libcudart.so.12"};
  std::uint64_t inode = 30;
  for (const std::string path : order) {
    builder.disk(path, elf_file(inode++, runtime12()));
    if (path.starts_with("/cached")) builder.cache(kName, path);
    INFO(path);
    CHECK(found_at(builder) == path);
  }
}

TEST_CASE("an aarch64 target searches its own directories and skips other machines") {
  SnapshotBuilder builder(MapsText().library(kApp, 1));
  ElfFacts app = make_plain().elf;
  app.machine = 183;
  builder.executable_is(kApp).elf(kApp, app).link("", kApp).empty_env();
  builder.cache(kName, "/x86/libcudart.so.12", 0x0303)
      .disk("/x86/libcudart.so.12", elf_file(20, runtime12()))
      .disk("/lib64/libcudart.so.12", elf_file(22, runtime12()))
      .disk("/usr/lib64/libcudart.so.12", elf_file(23, for_machine(183)));
  CHECK(found_at(builder) == "/usr/lib64/libcudart.so.12");
  builder.disk("/usr/lib/aarch64-linux-gnu/libcudart.so.12", elf_file(21, for_machine(183)));
  CHECK(found_at(builder) == "/usr/lib/aarch64-linux-gnu/libcudart.so.12");
}

TEST_CASE("$ORIGIN and $LIB are expanded") {
  SnapshotBuilder builder = process("$ORIGIN/../rt:${ORIGIN}/$LIB", "");
  builder.disk("/opt/app/bin/lib/x86_64-linux-gnu/libcudart.so.12", elf_file(20, runtime12()));
  CHECK(found_at(builder) == "/opt/app/bin/lib/x86_64-linux-gnu/libcudart.so.12");
  builder.disk("/opt/app/bin/../rt/libcudart.so.12", elf_file(21, runtime12()));
  CHECK(found_at(builder) == "/opt/app/bin/../rt/libcudart.so.12");
}

TEST_CASE("a short file or one that is no ELF ends the search, a 32-bit one is skipped") {
  const auto with_first = [](DiskEntry first) {
    return process()
        .env("LD_LIBRARY_PATH", "/first:/second")
        .disk("/first/libcudart.so.12", std::move(first))
        .disk("/second/libcudart.so.12", elf_file(21, runtime12()));
  };
  CHECK(found_at(with_first(odd_file(0, "empty file"))) ==
        "/first/libcudart.so.12: file too short");
  CHECK(found_at(with_first(odd_file(40, "ends inside its ELF header"))) ==
        "/first/libcudart.so.12: file too short");
  CHECK(found_at(with_first(odd_file(900, "not an ELF file"))) ==
        "/first/libcudart.so.12: invalid ELF header");
  CHECK(found_at(with_first(directory())) ==
        "/first/libcudart.so.12: cannot read file data: Is a directory");
  CHECK(found_at(with_first(odd_file(70000, "32-bit ELF"))) == "/second/libcudart.so.12");
  CHECK(found_at(with_first(elf_file(20, for_machine(183)))) == "/second/libcudart.so.12");
}

TEST_CASE("the file found is the loaded object where device and inode agree") {
  SnapshotBuilder builder(MapsText().library(kApp, 1).library("/r/private_copy.so", 7));
  builder.executable_is(kApp)
      .elf(kApp, make_plain().elf)
      .elf("/r/private_copy.so", make_genuine_runtime("private_copy.so", "12.8").elf)
      .link("", kApp)
      .link("/r/private_copy.so", "/r/private_copy.so")
      .env("LD_LIBRARY_PATH", "/env")
      .disk("/env/libcudart.so.12", elf_file(7, runtime12()));
  const LoaderAnswer answer = find(builder.build());
  CHECK(answer.object == std::size_t{1});
  CHECK(answer.open == OpenOutcome::old_object);
}

TEST_CASE("an unknown environment leaves a search undetermined, but not a loaded match") {
  SnapshotBuilder builder(MapsText().library(kApp, 1));
  builder.live().executable_is(kApp).elf(kApp, make_plain().elf).link("", kApp).empty_cache();
  builder.disk("/lib/x86_64-linux-gnu/libcudart.so.12", elf_file(20, runtime12()));
  const LoaderAnswer answer = find(builder.build());
  CHECK(answer.outcome == Outcome::undetermined);
  CHECK(answer.possible.front() == "/lib/x86_64-linux-gnu/libcudart.so.12");

  SnapshotBuilder loaded(MapsText().library("/r/libcudart.so.12", 2));
  loaded.live().elf("/r/libcudart.so.12", runtime12());
  CHECK(find(loaded.build()).outcome == Outcome::selected);
}

TEST_CASE("a place that nobody looked at is not empty") {
  const LoaderAnswer answer = find(process().live().build());
  CHECK(answer.outcome == Outcome::undetermined);
}

TEST_CASE("an empty element of LD_LIBRARY_PATH is the working directory, and is said") {
  SnapshotBuilder builder = process();
  builder.env("LD_LIBRARY_PATH", ":/env").disk("/env/libcudart.so.12", elf_file(20, runtime12()));
  const LoaderAnswer answer = find(builder.build());
  CHECK(answer.disk_path == std::string("/env/libcudart.so.12"));
  CHECK_THAT(answer.steps[1].reason, ContainsSubstring("working directory"));
}

TEST_CASE("a hardware subdirectory is said") {
  SnapshotBuilder builder = process();
  builder.env("LD_LIBRARY_PATH", "/env")
      .disk("/env/glibc-hwcaps", directory())
      .disk("/env/libcudart.so.12", elf_file(20, runtime12()));
  const LoaderAnswer answer = find(builder.build());
  CHECK(answer.disk_path == std::string("/env/libcudart.so.12"));
  CHECK(std::any_of(answer.steps.begin(), answer.steps.end(), [](const Step& step) {
    return step.subject == "/env/glibc-hwcaps" && step.verdict == StepVerdict::noted;
  }));
}

TEST_CASE("a given search stands for the search, not for what is loaded") {
  SnapshotBuilder builder(MapsText().library("/r/libcudart.so.12", 2));
  builder.elf("/r/libcudart.so.12", runtime12())
      .search("libcudart.so.12", "/elsewhere/libcudart.so.12")
      .search("libcudart.so.13", "/elsewhere/libcudart.so.13");
  CHECK(decide(builder.build(), "dt-needed:12").object == std::size_t{0});
  const Selection other = decide(builder.build(), "dt-needed:13");
  CHECK(other.outcome == Outcome::selected);
  CHECK(other.open == OpenOutcome::loads);
  CHECK(other.disk_path == std::string("/elsewhere/libcudart.so.13"));
}

TEST_CASE("a given search that is a link to a mapped object ends at the object") {
  DiskEntry link;
  link.kind = DiskKind::file;
  link.real_path = "/r/rt.so";
  SnapshotBuilder builder(MapsText().library("/r/rt.so", 2));
  builder.elf("/r/rt.so", make_genuine_runtime("rt.so", "13.0").elf)
      .search("libcudart.so.13", "/l/libcudart.so.13")
      .disk("/l/libcudart.so.13", link);
  CHECK(decide(builder.build(), "dt-needed:13").object == std::size_t{0});
}

TEST_CASE("a case that does not say what a search finds leaves other names open") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()).build();
  CHECK(simulate_dlopen(snapshot, {"libcuda.so.1", {}}).outcome == Outcome::undetermined);
  CHECK(simulate_dlopen(snapshot, {"libcudart.so.12", {}}).outcome == Outcome::not_found);
}

TEST_CASE("a runtime from memory answers by its soname") {
  SnapshotBuilder builder(MapsText().library("/memfd:libcudart.so.12 (deleted)", 2));
  builder.elf("/memfd:libcudart.so.12", runtime12())
      .state("/memfd:libcudart.so.12", FileState::memory);
  CHECK(decide(builder.build(), "dt-needed:12").object == std::size_t{0});
}

TEST_CASE(
    "a first file that could not be looked into leaves the answer open, one that is cut not") {
  const auto answer_with = [](DiskEntry first) {
    SnapshotBuilder builder = process();
    builder.live()
        .env("LD_LIBRARY_PATH", "/first:/second")
        .disk("/first/libcudart.so.12", std::move(first))
        .disk("/second/libcudart.so.12", elf_file(21, runtime12()));
    return find(builder.build());
  };
  DiskEntry unread;
  for (const DiskKind kind : {DiskKind::other, DiskKind::unreadable}) {
    unread.kind = kind;
    unread.note = "why";
    CHECK(answer_with(unread).outcome == Outcome::undetermined);
  }
  const LoaderAnswer failed = answer_with(odd_file(4096, "Input/output error"));
  CHECK(failed.outcome == Outcome::undetermined);
  CHECK(std::ranges::find(failed.possible, "/first/libcudart.so.12") != failed.possible.end());
  CHECK(answer_with(odd_file(4096, "program headers lie past the end")).outcome ==
        Outcome::not_found);
  ElfFacts cut = runtime12();
  cut.file_size = 100;
  cut.required_size = 200;
  const LoaderAnswer taken = answer_with(elf_file(20, cut));
  CHECK(taken.disk_path == "/first/libcudart.so.12");
}

TEST_CASE("half a link map does not show that something is not loaded") {
  Snapshot snapshot = SnapshotBuilder(MapsText().library(kApp, 1).library("/r/libcudart.so.12", 2))
                          .live()
                          .elf(kApp, make_plain().elf)
                          .elf("/r/libcudart.so.12", runtime12())
                          .link("", kApp)
                          .build();
  snapshot.link_map.get()->front().note = "list broken after 1 entry";
  CHECK(find(snapshot).object == std::size_t{1});
}
