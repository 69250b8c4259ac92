// A file system that never answers: the look-up ends in time, names the path, and the rest is read.
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include "cudart_doctor/collect/supervised_capture.hpp"
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
      return WorkResult{"", ::open(path.c_str(), O_RDONLY)};
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
  CaptureOptions options;
  options.pid = victim.pid();
  auto snapshot = capture_supervised(options, live::rules(), {milliseconds(20000), milliseconds(500)});
  REQUIRE(snapshot);
  const auto* object = live::object_at(*snapshot, hidden);
  REQUIRE(object != nullptr);
  CHECK(object->elf.is_unknown());
  CHECK(object->elf.reason() == "did not answer within the deadline");
  const auto* other = live::object_at(*snapshot, plain);
  REQUIRE(other != nullptr);
  CHECK(other->elf.is_known());
  REQUIRE_FALSE(snapshot->capture.notes.empty());
  CHECK_THAT(snapshot->capture.notes.back(), ContainsSubstring(hidden));
}

TEST_CASE("an environment on a dead file system does not stop the capture") {
  live::Scratch scratch;
  const auto place = scratch.path("mnt");
  std::filesystem::create_directory(place);
  SilentMount mount(place);
  live::Victim victim([&] { ::setenv("VIRTUAL_ENV", place.c_str(), 1); });
  CaptureOptions options;
  options.pid = victim.pid();
  auto snapshot = capture_supervised(options, live::rules(), {milliseconds(20000), milliseconds(500)});
  REQUIRE(snapshot);
  REQUIRE_FALSE(snapshot->capture.notes.empty());
  CHECK_THAT(snapshot->capture.notes.back(), ContainsSubstring(place));
  CHECK(snapshot->capture.objects_read > 0);
}
