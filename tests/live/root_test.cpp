// Rights and namespaces: needs root to become somebody else and to mount.
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/process_memory.hpp"
#include "cudart_doctor/sys/supervise.hpp"
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::object_at;
using live::Scratch;
using live::Victim;

namespace {

constexpr unsigned kNobody = 65534;

void need_root() {
  if (::geteuid() != 0) live::skip_program("needs root: changes users and mounts");
}

void become_nobody() {
  if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)
    ::_exit(126);
}

WorkResult work_result(std::string output, int code) {
  WorkResult result;
  result.output = std::move(output);
  result.code = code;
  return result;
}

}  // namespace

TEST_CASE("root sees another user's process") {
  need_root();
  Victim victim(become_nobody);
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  CHECK(snapshot->process.uid == kNobody);
  CHECK(snapshot->objects.front().route == ReadRoute::map_files);
}

TEST_CASE("memory that was opened before is read without the right to open it") {
  need_root();
  Victim victim;
  auto result = run_supervised({}, [&](Progress&) {
    const auto root = ProcDirectory::open("/proc");
    const auto process = root->child(std::to_string(victim.pid()));
    const auto maps = parse_maps(process->read_file("maps").value());
    // A sanitizer's shadow memory lies below the first file.
    const auto first = std::ranges::find_if(
        maps->rows, [&](const Mapping& row) { return maps->path(row).starts_with("/"); });
    const auto descriptor = process->open_file("mem");
    become_nobody();
    std::array<std::byte, 4> bytes{};
    ProcessMemory refused(*process, victim.pid());
    const bool denied = !refused.read_at(first->lo, bytes);
    ProcessMemory opened(*process, victim.pid(), descriptor->get());
    const auto count = opened.read_at(first->lo, bytes);
    const bool read = count && *count == 4 && std::memcmp(bytes.data(), "\177ELF", 4) == 0;
    return work_result(denied ? "denied" : "", read ? 0 : 1);
  });
  REQUIRE(result);
  CHECK(result->output == "denied");
  CHECK(result->code == 0);
}

TEST_CASE("another user is refused, with what would be needed") {
  need_root();
  Victim victim;
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    auto snapshot = capture(victim.pid());
    return snapshot
               ? work_result("captured", 0)
               : work_result(snapshot.error().message, static_cast<int>(snapshot.error().kind));
  });
  REQUIRE(result);
  CHECK(result->code == static_cast<int>(ErrorKind::permission));
  CHECK_THAT(result->output, ContainsSubstring("needs the same user, or CAP_SYS_PTRACE"));
}

TEST_CASE("without the right to map_files the path is read, and a deleted file's image") {
  need_root();
  Scratch scratch;
  const auto kept = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  const auto removed = scratch.copy_toy("toy_cudart13", "libcudart.so.13");
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    Victim victim;
    if (victim.tell("dlopen", kept) != "ready" || victim.tell("dlopen", removed) != "ready" ||
        ::unlink(removed.c_str()) != 0) {
      return work_result("not set up", 1);
    }
    auto captured = capture(victim.pid());
    if (!captured) return work_result(captured.error().message, 1);
    auto written = write_bundle(*captured, scratch.path("bundle"));
    return written ? work_result("", 0) : work_result(written.error().message, 1);
  });
  REQUIRE(result);
  INFO(result->output);
  REQUIRE(result->code == 0);
  auto snapshot = read_bundle(scratch.path("bundle"));
  REQUIRE(snapshot);
  const auto* path = object_at(*snapshot, kept);
  REQUIRE(path != nullptr);
  CHECK(path->route == ReadRoute::root_path);
  CHECK_THAT(path->route_note, ContainsSubstring("CAP_CHECKPOINT_RESTORE"));
  CHECK(path->content.is_known());
  const auto* image = object_at(*snapshot, removed);
  REQUIRE(image != nullptr);
  CHECK(image->state == FileState::deleted);
  CHECK(image->route == ReadRoute::memory);
  REQUIRE(image->elf.is_known());
  CHECK(image->elf.get()->from_memory);
  CHECK(image->elf.get()->soname == "libcudart.so.13");
  CHECK(image->content.is_unknown());
}

TEST_CASE("a file that only the target's mount namespace shows is read there") {
  need_root();
  Scratch scratch;
  const auto place = scratch.path("inside");
  std::filesystem::create_directory(place);
  Victim victim([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("toys", place.c_str(), "tmpfs", 0, "mode=755") != 0) {
      ::_exit(126);
    }
    live::copy_file(live::toy("toy_cudart12"), place + "/libcudart.so.12");
    live::copy_file(live::toy("toy_cudart13"), place + "/libcudart.so.13");
  });
  const auto path = place + "/libcudart.so.12";
  REQUIRE(victim.tell("dlopen", path) == "ready");
  auto rules = live::rules();
  rules.wanted = [&](const Snapshot&) {
    return std::vector<DiskRequest>{{DiskRequest::Want::elf, place + "/libcudart.so.13", {}}};
  };
  CaptureOptions options;
  options.pid = victim.pid();
  auto snapshot = capture_process(options, rules);
  REQUIRE(snapshot);
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(snapshot->process.namespaces.at("mnt") != snapshot->process.own_namespaces.at("mnt"));
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::same);
  CHECK(object->elf.is_known());
  const auto& other = snapshot->disk.at(place + "/libcudart.so.13");
  REQUIRE(other.elf.is_known());
  CHECK(other.elf.get()->soname == "libcudart.so.13");
}

TEST_CASE("a link inside the target's root does not lead out of it") {
  need_root();
  Scratch scratch;
  const auto root = scratch.path("root");
  std::filesystem::create_directories(root + "/lib");
  live::write_text(scratch.path("secret"), "outside");
  std::filesystem::create_symlink(scratch.path("secret"), root + "/lib/absolute");
  std::filesystem::create_symlink("../../secret", root + "/lib/relative");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) ::_exit(126);
    ::pause();
    ::_exit(0);
  }
  // The child has changed its root once /proc says so.
  const std::string link = "/proc/" + std::to_string(child) + "/root";
  while (std::filesystem::read_symlink(link) != root) ::sched_yield();
  using Want = DiskRequest::Want;
  auto rules = live::rules();
  rules.wanted = [](const Snapshot&) {
    return std::vector<DiskRequest>{{Want::text, "/lib/absolute", {}},
                                    {Want::text, "/lib/relative", {}}};
  };
  CaptureOptions options;
  options.pid = child;
  auto snapshot = capture_process(options, rules);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE(snapshot);
  CHECK(snapshot->disk.at("/lib/absolute").kind == DiskKind::absent);
  CHECK(snapshot->disk.at("/lib/relative").kind == DiskKind::absent);
}

TEST_CASE("a kernel thread has no mappings") {
  need_root();
  // In a PID namespace of its own number 2 is somebody else; a fake /proc covers the rule there.
  const std::string stat = live::read_text("/proc/2/stat");
  if (stat.find("(kthreadd)") == std::string::npos) return;
  auto snapshot = capture(2);
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("kernel thread"));
}
