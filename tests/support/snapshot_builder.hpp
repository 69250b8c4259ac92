// Builds a Snapshot for tests of the pure core: from a maps text and facts a path, or line by line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor::test {

/// A maps text, written library by library at ascending addresses.
class MapsText {
 public:
  /// A library of two mappings (executable, data) on device fe:00.
  MapsText& library(std::string_view path, std::uint64_t inode);
  /// One mapping with these permissions.
  MapsText& mapping(std::string_view path, std::uint64_t inode, std::string_view permissions);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::uint64_t next_ = 0x7f0000000000;
};

/// Identity of a file on the device that MapsText uses.
FileKey key(std::uint64_t inode);

class SnapshotBuilder {
 public:
  /// Objects, their names and rows come from `maps`. The origin is a test fixture: a path that
  /// nothing is said about does not exist.
  explicit SnapshotBuilder(const std::string& maps);
  explicit SnapshotBuilder(const MapsText& maps) : SnapshotBuilder(maps.text()) {}

  /// From now on "nothing said" means "not known", as for a process that was looked at.
  SnapshotBuilder& live();
  SnapshotBuilder& elf(std::string_view path, ElfFacts facts);
  SnapshotBuilder& unread(std::string_view path, std::string reason);
  SnapshotBuilder& state(std::string_view path, FileState state, FileKey now = {});
  SnapshotBuilder& executable_is(std::string_view path);
  /// Sets a variable; the environment is known from then on.
  SnapshotBuilder& env(std::string_view name, std::string_view value);
  /// The environment is known, and has no further variables.
  SnapshotBuilder& empty_env();
  /// Appends an entry to the base namespace's link map: l_name, and the path of its object.
  SnapshotBuilder& link(std::string_view name, std::string_view object_path);
  SnapshotBuilder& disk(std::string_view path, DiskEntry entry);
  SnapshotBuilder& cache(std::string_view soname, std::string_view path,
                         std::uint32_t flags = 0x0303);
  SnapshotBuilder& empty_cache();
  SnapshotBuilder& search(std::string_view name, std::string_view path);
  [[nodiscard]] Snapshot build() const { return snapshot_; }

 private:
  LoadedObject& object_at(std::string_view path);
  Snapshot snapshot_;
};

/// A file on disk with ELF facts.
DiskEntry elf_file(std::uint64_t inode, ElfFacts facts);
/// A file on disk whose ELF facts could not be read.
DiskEntry odd_file(std::uint64_t size, std::string reason);
DiskEntry directory();

}  // namespace cudart_doctor::test
