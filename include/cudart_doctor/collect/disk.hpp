// Paths in the target's view to DiskEntry: what later steps asked to know of the disk.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Most names that are taken from one directory.
inline constexpr std::size_t kMaxNames = 100000;

/// Names in a directory that contain `filter`. Errors: not_found, permission, unsupported (no
/// directory), limit, io, timeout (did not answer before).
Result<std::vector<std::string>> list_directory(const CaptureContext& context,
                                                const std::string& path, std::string_view filter);

class DiskReader {
 public:
  static constexpr std::size_t kMaxRequests = 20000;
  static constexpr std::uint64_t kMaxText = 1u << 20;
  /// Files that are not mapped are searched for contents up to this size, in bytes.
  static constexpr std::uint64_t kMaxSearched = 4u << 20;

  /// Entries are added to `snapshot`.disk; both must outlive this.
  DiskReader(const CaptureContext& context, Snapshot& snapshot);

  /// Answers one request; further requests for the same path complete its entry.
  const DiskEntry& read(const DiskRequest& request);

  /// list_directory() with this reader's context.
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path,
                                                      std::string_view filter) const {
    return list_directory(context_, path, filter);
  }
  /// The mapped object that is this very file, or nullptr.
  [[nodiscard]] const LoadedObject* mapped(const FileKey& key) const;
  /// From here on the snapshot's objects are there, with their keys.
  void know_objects();
  /// From here on they are read, and what is known of them answers for their files too.
  void use_objects() { objects_read_ = true; }

 private:
  void add_elf(DiskEntry& entry, const FoundPath& found, const std::string& path);
  void add_names(DiskEntry& entry, const FoundPath& found, const DiskRequest& request);
  void add_text(DiskEntry& entry, const FoundPath& found, const std::string& path);

  const CaptureContext& context_;
  Snapshot& snapshot_;
  CaptureRules unmapped_rules_;
  std::map<FileKey, std::string> read_files_;  ///< Files that were read, with the path's entry.
  std::map<FileKey, std::size_t> objects_;     ///< Device and inode to index of the mapped object.
  bool objects_read_ = false;
};

}  // namespace cudart_doctor
