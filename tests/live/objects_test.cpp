// What lies behind a mapping: plain, deleted, replaced and oddly named files, memory, data.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "cudart_doctor/collect/bundle.hpp"
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::object_at;
using live::Scratch;
using live::Victim;

TEST_CASE("a loaded library is read with its soname, version nodes and link map entry") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->executable);
  CHECK(object->state == FileState::same);
  CHECK_FALSE(object->marked_deleted);
  REQUIRE(object->elf.is_known());
  CHECK(object->elf.get()->soname == "libcudart.so.12");
  CHECK(object->elf.get()->version_definitions == std::vector<std::string>{"libcudart.so.12"});
  CHECK(object->elf.get()->exports ==
        std::vector<std::string>{"cudaDeviceReset", "cudaGetDeviceCount"});
  CHECK(object->content.is_known());
  REQUIRE(snapshot->link_map.is_known());
  const auto& entry = snapshot->link_map.get()->front().entries.back();
  CHECK(entry.name == path);
  REQUIRE(entry.object);
  CHECK(&snapshot->objects[*entry.object] == object);
  CHECK(snapshot->capture.maps_reads == 1);
  CHECK(snapshot->process.libc == "glibc");
  CHECK(snapshot->process.pid == victim.pid());
}

TEST_CASE("a deleted library is read through its mapping") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  REQUIRE(::unlink(path.c_str()) == 0);
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::deleted);
  CHECK(object->marked_deleted);
  REQUIRE(object->elf.is_known());
  CHECK(object->elf.get()->soname == "libcudart.so.12");
}

TEST_CASE("a replaced file is not the loaded one") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so");
  const auto newer = scratch.copy_toy("toy_cudart13", "new");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  REQUIRE(std::rename(newer.c_str(), path.c_str()) == 0);
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::replaced);
  REQUIRE(object->elf.is_known());
  CHECK(object->elf.get()->soname == "libcudart.so.12");
  REQUIRE(object->path_now);
  CHECK(object->path_now->inode != object->key.inode);
  REQUIRE(object->path_now_build_id);
  CHECK(object->path_now_build_id != object->elf.get()->build_id);
}

TEST_CASE("a library from a memfd has no path on disk") {
  Victim victim;
  REQUIRE(victim.tell("memfd", live::toy("toy_cudart13")) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, "/memfd:toy");
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::memory);
  REQUIRE(object->elf.is_known());
  CHECK(object->elf.get()->soname == "libcudart.so.13");
}

TEST_CASE("two hard links of one file are one object") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  const auto second = scratch.path("libcudart-abc.so.12");
  std::filesystem::create_hard_link(path, second);
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  REQUIRE(victim.tell("map_data", second) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path) != nullptr ? object_at(*snapshot, path)
                                                             : object_at(*snapshot, second);
  REQUIRE(object != nullptr);
  CHECK(object->paths.size() == 2);
  CHECK(object->state == FileState::same);
}

TEST_CASE("a library loaded through a symbolic link is shown under the file's own name") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12.4.127");
  const auto link = scratch.path("libcudart.so.12");
  std::filesystem::create_symlink(path, link);
  Victim victim;
  REQUIRE(victim.tell("dlopen", link) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::same);
  CHECK(snapshot->link_map.get()->front().entries.back().name == link);
}

TEST_CASE("odd file names are resolved to the mapped file") {
  const auto* name = GENERATE("lib cudart (1).so", "libcudart\nx.so", "libcudart-\xff\xfe.so",
                              "libcudart.so (deleted)", "libcudart\\012.so");
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", name);
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::same);
  CHECK_FALSE(object->marked_deleted);
  CHECK(object->elf.is_known());
}

TEST_CASE("a deleted file whose name ended like the mark loses only the mark") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so (deleted)");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  REQUIRE(::unlink(path.c_str()) == 0);
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->state == FileState::deleted);
}

TEST_CASE(
    "a file mapped as data is not a loaded library, but its CUDA name makes it worth reading") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  const auto other = scratch.path("weights.bin");
  live::write_text(other, "not a library");
  Victim victim;
  REQUIRE(victim.tell("map_data", path) == "ready");
  REQUIRE(victim.tell("map_data", other) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK_FALSE(object->executable);
  CHECK(object->elf.is_known());
  const auto* data = object_at(*snapshot, other);
  REQUIRE(data != nullptr);
  CHECK_FALSE(data->elf.is_asked());
  CHECK(data->route == ReadRoute::none);
  CHECK(snapshot->capture.not_elf >= 1);
}

TEST_CASE("a 32-bit or cut object is reported as unread, not as absent") {
  Scratch scratch;
  const auto narrow = scratch.path("libcudart32.so");
  std::string bytes = live::read_text(live::toy("toy_stub"));
  bytes[4] = 1;  // ELFCLASS32
  live::write_text(narrow, bytes);
  const auto cut = scratch.path("libcudart-cut.so");
  live::write_text(cut, std::string_view(bytes).substr(0, 40));
  Victim victim;
  REQUIRE(victim.tell("map_code", narrow) == "ready");
  REQUIRE(victim.tell("map_code", cut) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  for (const auto& path : {narrow, cut}) {
    const auto* object = object_at(*snapshot, path);
    REQUIRE(object != nullptr);
    CHECK(object->executable);
    CHECK(object->elf.is_unknown());
    CHECK_FALSE(object->elf.reason().empty());
  }
  CHECK(snapshot->capture.unread.size() == 2);
}

TEST_CASE("two threads give the same snapshot as one") {
  Scratch scratch;
  Victim victim;
  std::vector<std::string> paths;
  for (int i = 0; i < 60; ++i) {
    paths.push_back(scratch.copy_toy("toy_cudart12", "lib" + std::to_string(i) + ".so"));
    REQUIRE(victim.tell("dlopen", paths.back()) == "ready");
  }
  // Some cannot be read, so that the order in which this is told counts.
  for (std::size_t i = 0; i < paths.size(); i += 7) std::filesystem::resize_file(paths[i], 100);
  CaptureOptions options;
  options.pid = victim.pid();
  const auto capture_to_text = [&] {
    auto snapshot = capture_process(options, live::rules());
    REQUIRE(snapshot);
    snapshot->capture.taken_at.clear();
    return snapshot_to_json(*snapshot);
  };
  const std::string alone = capture_to_text();
  bool helped = false;
  options.helper_progress = [&](std::string_view, std::string_view) { helped = true; };
  CHECK(capture_to_text() == alone);
  if (!helped) WARN("one CPU only: nothing was read by a second thread");
}

TEST_CASE("a path that did not answer before is not touched again") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  CaptureOptions options;
  options.pid = victim.pid();
  options.skip_paths = {path};
  bool touched = false;
  options.progress = [&](std::string_view, std::string_view at) {
    touched = touched || at == path;
  };
  auto snapshot = capture_process(options, live::rules());
  REQUIRE(snapshot);
  CHECK_FALSE(touched);
  const auto* object = object_at(*snapshot, path);
  REQUIRE(object != nullptr);
  CHECK(object->elf.reason() == "did not answer within the deadline");
  CHECK(object->state == FileState::unknown);
}

TEST_CASE("the second pass reads what the rules want, in the target's view") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart13", "libcudart.so.13");
  const auto link = scratch.path("libcudart.so");
  std::filesystem::create_symlink(path, link);
  const auto fifo = scratch.path("pipe");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  live::write_text(scratch.path("note.txt"), "hello");
  Victim victim;
  using Want = DiskRequest::Want;
  auto rules = live::rules();
  rules.wanted = [&](const Snapshot&) {
    return std::vector<DiskRequest>{{Want::elf, link, {}},
                                    {Want::text, scratch.path("note.txt"), {}},
                                    {Want::list, scratch.path(""), "cudart"},
                                    {Want::text, fifo, {}},
                                    {Want::stat, scratch.path("missing"), {}}};
  };
  CaptureOptions options;
  options.pid = victim.pid();
  auto snapshot = capture_process(options, rules);
  REQUIRE(snapshot);
  const auto& elf = snapshot->disk.at(link);
  CHECK(elf.kind == DiskKind::file);
  CHECK(elf.real_path == path);
  REQUIRE(elf.elf.is_known());
  CHECK(elf.elf.get()->soname == "libcudart.so.13");
  REQUIRE(snapshot->disk.at(scratch.path("note.txt")).text.is_known());
  CHECK(*snapshot->disk.at(scratch.path("note.txt")).text.get() == "hello");
  CHECK(snapshot->disk.at(scratch.path("")).names ==
        std::vector<std::string>{"libcudart.so", "libcudart.so.13"});
  CHECK(snapshot->disk.at(fifo).kind == DiskKind::other);
  CHECK(snapshot->disk.at(fifo).note == "FIFO");
  CHECK(snapshot->disk.at(scratch.path("missing")).kind == DiskKind::absent);
}
