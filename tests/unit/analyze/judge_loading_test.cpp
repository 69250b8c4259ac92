// RT09, RT12: names that the loader finds nowhere, for this process or for a new one.
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kOp = "/x/libop.so";
constexpr std::string_view kHook = "/h/hook.so";
constexpr std::string_view kTorch = "/t/torch/lib/libtorch_cuda.so";

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

SyntheticElf needing(std::vector<std::string> names, std::string_view soname = "libop.so") {
  SyntheticElf made = make_plain(soname);
  made.elf.needed = std::move(names);
  return made;
}

SyntheticElf runtime11() { return make_genuine_runtime("libcudart.so.11.0", "11.8"); }

World with13() { return World().library(kReal13, runtime13()); }

World named(std::string_view need, World world) {
  return world.named_by_user(kOp, needing({std::string(need)}));
}

/// A runtime that is loaded, and a preloaded hook that needs it and cannot find it by itself.
World hooked() {
  return World()
      .library(kReal12, runtime12())
      .library(kHook, needing({"libcudart.so.12"}, "hook.so"))
      .env("LD_PRELOAD", kHook);
}

/// What is not said is unknown, as in a process that was looked at; the cache is empty.
void make_live(Snapshot& snapshot) {
  snapshot.origin = SnapshotOrigin::live;
  snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
}

void know_defaults(Snapshot& snapshot, std::string_view name) {
  for (const char* directory : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
                                "/usr/lib64", "/lib", "/usr/lib"}) {
    DiskEntry entry;
    entry.kind = DiskKind::absent;
    snapshot.disk[std::string(directory) + "/" + std::string(name)] = entry;
  }
}

}  // namespace

TEST_CASE("RT09: a runtime's name that was asked for and is found nowhere") {
  check_all(
      "RT09",
      {{"only another major", named("libcudart.so.12", with13()), "error"},
       {"a soname that never was",
        named("libcudart.so.11", World().library("/n/libcudart.so.11.0", runtime11())), "error"},
       {"there under another file name, on disk",
        named("libcudart.so.12", World().named_by_user("/app/libcudart.so.12.0", runtime12())),
        "error"},
       {"a mapped library needs it", with13().library(kOp, needing({"libcudart.so.12"})), "error"},
       {"the runtime is loaded", named("libcudart.so.13", with13()), "absent"},
       {"loaded under that file name, with a hashed soname",
        named("libcudart.so.12",
              World().library("/n/libcudart.so.12",
                              make_genuine_runtime("libcudart-41118559.so.12", "12.4"))),
        "absent"},
       {"a search finds it",
        named("libcudart.so.12", with13().search("libcudart.so.12", "/d/libcudart.so.12"))
            .on_disk("/d/libcudart.so.12", runtime12()),
        "absent"},
       {"nobody asks", with13(), "absent"},
       {"a name without a number", named("libcudart.so.x", with13()), "error"},
       {"a number that no CUDA has", named("libcudart.so.100", with13()), "error"},
       {"musl, which searches by other rules",
        named("libcudart.so.12", with13()).with([](Snapshot& snapshot) {
          snapshot.process.libc = "musl";
        }),
        "absent"},
       {"nothing is there at all: a finding of its own", named("libcudart.so.12", World()),
        "absent"},
       {"another library's name", named("libfoo.so.12", with13()), "absent"},
       {"the asking file is only on disk", with13().on_disk(kOp, needing({"libcudart.so.12"})),
        "absent"},
       {"a mapped library could not be read",
        named("libcudart.so.12", with13().unread("/v/libmany.so", "Permission denied")), "absent"},
       {"the loader's cache is not known",
        named("libcudart.so.12", with13()).with([](Snapshot& snapshot) {
          snapshot.origin = SnapshotOrigin::live;
          know_defaults(snapshot, "libcudart.so.12");
        }),
        "absent"}});
}

TEST_CASE("RT09 says who asked, what is there, and how to join them") {
  const World link =
      named("libcudart.so.12", World().named_by_user("/app/libcudart.so.12.0", runtime12()));
  const Report report = link.judge();
  CHECK(says(find_finding(report, "RT09"), "Asked for by /x/libop.so"));
  CHECK(says(find_finding(report, "RT09"), "There, on disk: /app/libcudart.so.12.0"));
  CHECK(says(find_finding(report, "RT09"), "ln -s libcudart.so.12.0 /app/libcudart.so.12"));
  const Report other = named("libcudart.so.12", with13()).judge();
  CHECK(says(find_finding(other, "RT09"), "there is only CUDA 13."));
  CHECK(says(find_finding(other, "RT09"), "nvidia-cuda-runtime-cu12"));
  const Report wrong =
      named("libcudart.so.11", World().library("/n/libcudart.so.11.0", runtime11())).judge();
  CHECK(says(find_finding(wrong, "RT09"), "by its soname, libcudart.so.11.0"));
  const Report newer = named("libcudart.so.13", World().library(kReal12, runtime12())).judge();
  CHECK(says(find_finding(newer, "RT09"), "(nvidia-cuda-runtime), where the loader finds it"));
  const Report unsearched =
      named("libcudart.so.12", World().named_by_user("/app/libcudart.so.12", runtime12())).judge();
  CHECK(says(find_finding(unsearched, "RT09"), "Add /app to LD_LIBRARY_PATH"));
  const Report numberless = named("libcudart.so.x", with13()).judge();
  CHECK(says(find_finding(numberless, "RT09"), "finds nowhere, though the runtime is there."));
}

TEST_CASE("RT09 names what is mapped before what is on disk, and each asker once") {
  const World world = World()
                          .library(kReal13, runtime13())
                          .named_by_user("/app/libcudart.so.13.0", runtime13())
                          .library(kOp, needing({"libcudart.so.12"}))
                          .library("/y/libop.so", needing({"libcudart.so.12"}));
  const Report report = world.judge();
  const Finding* finding = find_finding(report, "RT09");
  REQUIRE(finding != nullptr);
  CHECK(std::ranges::count_if(finding->evidence, [](const std::string& each) {
          return each.starts_with("Asked for by ");
        }) == 2);
  const auto mapped = std::ranges::find_if(finding->evidence, [](const std::string& each) {
    return each.starts_with("There, mapped: ");
  });
  const auto on_disk = std::ranges::find_if(finding->evidence, [](const std::string& each) {
    return each.starts_with("There, on disk: ");
  });
  REQUIRE(mapped != finding->evidence.end());
  REQUIRE(on_disk != finding->evidence.end());
  CHECK(mapped < on_disk);
}

TEST_CASE("RT09: what cuDNN's front end asks for in vain, by its code and not by a DT_NEEDED") {
  const std::string site = "/v/lib/python3.12/site-packages";
  const auto world = [&](std::string_view variable) {
    World out = with13();
    out.python()
        .package("nvidia-cudnn-frontend", "1.25.0")
        .library(site + "/cudnn/_compiled_module.cpython-312-x86_64-linux-gnu.so",
                 make_plain("_compiled_module"))
        .library("/x/_compiled_module.so", make_plain("_compiled_module"));
    if (!variable.empty()) out.env("CUDNN_FRONTEND_CUDART_LIB_NAME", variable);
    return out;
  };
  const Report vain = world("libcudart.so.12").judge();
  CHECK(severity_of(vain, "RT09") == "error");
  CHECK(says(find_finding(vain, "RT09"), "Asked for by " + site + "/cudnn/_compiled_module."));
  CHECK_FALSE(says(find_finding(vain, "RT09"), "/x/_compiled_module.so"));
  CHECK(severity_of(world("libfoo.so").judge(), "RT09") == "absent");
  CHECK(severity_of(world("").judge(), "RT09") == "absent");
}

TEST_CASE("RT12: a preload that a new process cannot load") {
  check_all(
      "RT12",
      {{"mapped", hooked(), "critical"},
       {"not loaded here, only set",
        World()
            .library(kReal12, runtime12())
            .env("LD_PRELOAD", kHook)
            .on_disk(kHook, needing({"libcudart.so.12"}, "hook.so")),
        "critical"},
       {"one of several", hooked().env("LD_PRELOAD", "/a/b.so"), "critical"},
       {"named in the preload file",
        World()
            .library(kReal12, runtime12())
            .on_disk(kHook, needing({"libcudart.so.12"}, "hook.so"))
            .with([](Snapshot& snapshot) {
              DiskEntry& file = snapshot.disk["/etc/ld.so.preload"];
              file.kind = DiskKind::file;
              file.text = Fact<std::string>::known("# hooks\n/h/hook.so  # ours\n");
            }),
        "critical"},
       {"a comment in the preload file",
        World()
            .library(kReal12, runtime12())
            .on_disk(kHook, needing({"libcudart.so.12"}, "hook.so"))
            .with([](Snapshot& snapshot) {
              DiskEntry& file = snapshot.disk["/etc/ld.so.preload"];
              file.kind = DiskKind::file;
              file.text = Fact<std::string>::known("# /h/hook.so\n");
            }),
        "absent"},
       {"a search finds it", hooked().search("libcudart.so.12", kReal12), "absent"},
       {"LD_LIBRARY_PATH leads to it", hooked().env("LD_LIBRARY_PATH", dir_name(kReal12)),
        "absent"},
       {"this process does not have it either",
        World().library(kHook, needing({"libcudart.so.12"}, "hook.so")).env("LD_PRELOAD", kHook),
        "absent"},
       {"it needs no CUDA library",
        World()
            .library(kReal12, runtime12())
            .library(kHook, needing({"libother.so"}, "hook.so"))
            .env("LD_PRELOAD", kHook),
        "absent"},
       {"the runtime is preloaded too",
        World()
            .library(kReal12, runtime12())
            .library(kHook, needing({"libcudart.so.12"}, "hook.so"))
            .env("LD_PRELOAD", std::string(kReal12) + ":" + std::string(kHook)),
        "absent"},
       {"the program needs the runtime itself",
        hooked()
            .library("/bin/prog", needing({"libcudart.so.12"}, ""))
            .with([](Snapshot& snapshot) {
              snapshot.process.executable = Fact<std::string>::known("/bin/prog");
            }),
        "absent"},
       {"not preloaded",
        World()
            .library(kReal12, runtime12())
            .library(kHook, needing({"libcudart.so.12"}, "hook.so"))
            .env("PATH", "/bin"),
        "absent"},
       {"the environment is not known",
        World().library(kReal12, runtime12()).library(kHook, needing({"libcudart.so.12"})),
        "absent"},
       {"another preload is not known",
        World()
            .library(kReal12, runtime12())
            .library(kHook, needing({"libcudart.so.12"}, "hook.so"))
            .env("LD_PRELOAD", std::string(kHook) + " $LIB/other.so"),
        "absent"}});
}

TEST_CASE("RT12 names the run path by which this process has the library") {
  SyntheticElf torch = needing({"libcudart.so.12"}, "libtorch_cuda.so");
  torch.elf.runpath = std::string(dir_name(kReal12));
  const Report report = hooked().library(kTorch, torch).judge();
  CHECK(says(find_finding(report, "RT12"), "LD_PRELOAD names /h/hook.so; NEEDED libcudart.so.12"));
  CHECK(
      says(find_finding(report, "RT12"), "found by the RUNPATH of /t/torch/lib/libtorch_cuda.so"));
  CHECK(says(find_finding(report, "RT12"),
             "Add " + std::string(dir_name(kReal12)) + " to LD_LIBRARY_PATH"));
}

TEST_CASE("RT12: in a process that was looked at, a place that was not is no empty one") {
  const World live = hooked()
                         .library("/bin/prog", needing({"libc.so.6"}, ""))
                         .with([](Snapshot& snapshot) {
                           snapshot.process.executable = Fact<std::string>::known("/bin/prog");
                         })
                         .with(&make_live);
  CHECK(severity_of(live.judge(), "RT12") == "absent");
  const World known =
      World(live).with([](Snapshot& snapshot) { know_defaults(snapshot, "libcudart.so.12"); });
  CHECK(severity_of(known.judge(), "RT12") == "critical");
  const World relative = World(known).env("LD_LIBRARY_PATH", "lib");
  CHECK(severity_of(relative.judge(), "RT12") == "absent");
}
