// A file system that never answers: the look-up ends in time, names the path, and the rest is read.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/sys/supervise.hpp"
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using std::chrono::milliseconds;

namespace {

/// A FUSE mount whose server reads no request: every access waits until the mount is given up.
class SilentMount {
 public:
  explicit SilentMount(const std::string& place) : place_(place) {
    fd_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    const std::string options =
        "fd=" + std::to_string(fd_) + ",rootmode=40000,user_id=0,group_id=0";
    mounted_ = fd_ >= 0 && ::mount("silent", place_.c_str(), "fuse", 0, options.c_str()) == 0;
    if (!mounted_) live::skip_program("needs root and /dev/fuse: mounts a silent file system");
  }
  ~SilentMount() {
    ::close(fd_);
    ::umount2(place_.c_str(), MNT_DETACH);
  }
  SilentMount(const SilentMount&) = delete;
  SilentMount& operator=(const SilentMount&) = delete;

 private:
  std::string place_;
  int fd_ = -1;
  bool mounted_ = false;
};

std::chrono::steady_clock::duration time_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - begin;
}

/// Captures as the program does: a path that does not answer is left out the next time.
Result<Snapshot> capture_patiently(pid_t pid, std::set<std::string>& left_out) {
  CaptureOptions options;
  options.pid = pid;
  Supervisor supervisor;
  while (true) {
    auto result = supervisor.run({milliseconds(20000), milliseconds(500)}, [&](Progress& progress) {
      options.skip_paths = left_out;
      options.progress = [&](std::string_view stage, std::string_view path) {
        progress.set(stage, path);
      };
      options.helper_progress = [helper = progress.helper()](std::string_view stage,
                                                             std::string_view path) mutable {
        helper.set(stage, path);
      };
      auto snapshot = capture_process(options, live::rules());
      WorkResult done;
      done.code = snapshot ? 0 : 1;
      done.output = snapshot ? snapshot_to_json(*snapshot) : snapshot.error().message;
      done.message = snapshot ? snapshot->maps.text : "";
      return done;
    });
    if (result) return snapshot_from_json(result->output, result->message, "result");
    if (!left_out.insert(supervisor.last_step().path).second) return tl::unexpected(result.error());
  }
}

}  // namespace

TEST_CASE("work that never returns ends at its deadline, and the path is named") {
  live::Scratch scratch;
  const auto place = scratch.path("mnt");
  std::filesystem::create_directory(place);
  SilentMount mount(place);
  const auto path = place + "/libcudart.so.12";
  Result<WorkResult> result;
  const auto took = time_of([&] {
    result = run_supervised({milliseconds(300), milliseconds(0)}, [&](Progress& progress) {
      progress.set("open", path);
      WorkResult opened;
      opened.code = ::open(path.c_str(), O_RDONLY);
      return opened;
    });
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::timeout);
  CHECK_THAT(result.error().message, ContainsSubstring("open " + path));
  CHECK(took < milliseconds(300 + 2000 + 500));
}

TEST_CASE("a mapped file that does not answer any more is left out, the rest is read") {
  live::Scratch scratch;
  const auto place = scratch.path("mnt");
  std::filesystem::create_directory(place);
  const auto hidden = scratch.copy_toy("toy_cudart12", "mnt/libcudart.so.12");
  const auto plain = scratch.copy_toy("toy_cudart13", "libcudart.so.13");
  live::Victim victim;
  REQUIRE(victim.tell("dlopen", hidden) == "ready");
  REQUIRE(victim.tell("dlopen", plain) == "ready");
  SilentMount mount(place);
  std::set<std::string> left_out;
  auto snapshot = capture_patiently(victim.pid(), left_out);
  REQUIRE(snapshot);
  const auto* object = live::object_at(*snapshot, hidden);
  REQUIRE(object != nullptr);
  CHECK(object->elf.is_unknown());
  CHECK(object->elf.reason() == "did not answer within the deadline");
  const auto* other = live::object_at(*snapshot, plain);
  REQUIRE(other != nullptr);
  CHECK(other->elf.is_known());
  CHECK(left_out == std::set<std::string>{hidden});
}

TEST_CASE(
    "of a file system that does not answer one file is waited for, whichever thread meets it") {
  live::Scratch scratch;
  const auto place = scratch.path("mnt");
  std::filesystem::create_directory(place);
  live::Victim victim;
  std::set<std::string> hidden;
  std::vector<std::string> plain;
  for (int i = 0; i < 40; ++i) {
    const bool hides = i == 10 || i == 30;
    const auto name = (hides ? "mnt/lib" : "lib") + std::to_string(i) + ".so";
    const auto path = scratch.copy_toy("toy_stub", name);
    REQUIRE(victim.tell("dlopen", path) == "ready");
    if (hides) {
      hidden.insert(path);
    } else {
      plain.push_back(path);
    }
  }
  SilentMount mount(place);
  std::set<std::string> left_out;
  auto snapshot = capture_patiently(victim.pid(), left_out);
  REQUIRE(snapshot);
  CHECK(left_out.size() == 1);
  CHECK(std::all_of(hidden.begin(), hidden.end(), [&](const auto& path) {
    const auto* object = live::object_at(*snapshot, path);
    return object != nullptr && object->elf.reason() == "did not answer within the deadline";
  }));
  CHECK(std::all_of(plain.begin(), plain.end(), [&](const auto& path) {
    const auto* object = live::object_at(*snapshot, path);
    return object != nullptr && object->elf.is_known();
  }));
}

TEST_CASE("an environment on a dead file system does not stop the capture") {
  live::Scratch scratch;
  const auto place = scratch.path("mnt");
  std::filesystem::create_directory(place);
  SilentMount mount(place);
  live::Victim victim([&] { ::setenv("VIRTUAL_ENV", place.c_str(), 1); });
  std::set<std::string> left_out;
  auto snapshot = capture_patiently(victim.pid(), left_out);
  REQUIRE(snapshot);
  REQUIRE_FALSE(left_out.empty());
  CHECK(std::all_of(left_out.begin(), left_out.end(),
                    [&](const auto& path) { return path.starts_with(place); }));
  CHECK(snapshot->capture.objects_read > 0);
}
