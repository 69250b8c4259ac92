// The recorder's place on disk for one run: a private folder with the audit library and the socket
// that it reports to. No name in it contains "cuda": scans of maps must not meet it.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class RecorderFiles {
 public:
  RecorderFiles(RecorderFiles&& other) noexcept;
  RecorderFiles& operator=(RecorderFiles&& other) noexcept;
  RecorderFiles(const RecorderFiles&) = delete;
  RecorderFiles& operator=(const RecorderFiles&) = delete;
  /// Removes the folder and all in it.
  ~RecorderFiles();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  /// For LD_AUDIT.
  [[nodiscard]] const std::string& library() const { return library_; }
  /// A listening SOCK_SEQPACKET socket, not blocking, closed on exec.
  [[nodiscard]] int listener() const { return listener_.get(); }

 private:
  friend Result<RecorderFiles> lay_recorder(const std::vector<std::string>& places);
  RecorderFiles() = default;
  std::string directory_;
  std::string library_;
  UniqueFd listener_;
};

/// Folders in which the recorder may be laid, best first: $TMPDIR, /tmp, /dev/shm, /var/tmp, the
/// user's runtime folder.
std::vector<std::string> recorder_places();

/// Lays it into a new folder (mode 0711, a random name) below the first of `places` that has room
/// and allows libraries to be loaded from it. Errors: io (names each place and its reason).
Result<RecorderFiles> lay_recorder(const std::vector<std::string>& places);

}  // namespace cudart_doctor
