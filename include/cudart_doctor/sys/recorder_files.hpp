// The recorder's place on disk for one run: a private folder with the audit library and the socket
// that it reports to. No name in it contains "cuda": scans of maps must not meet it.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class RecorderFolder;

class RecorderFiles {
 public:
  RecorderFiles(RecorderFiles&& other) noexcept;
  RecorderFiles& operator=(RecorderFiles&& other) noexcept;
  RecorderFiles(const RecorderFiles&) = delete;
  RecorderFiles& operator=(const RecorderFiles&) = delete;
  /// Removes what was laid, and the folder where nothing else is in it; not in a process that was
  /// forked from the one that laid it. No link that the command put somewhere is followed.
  ~RecorderFiles();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  /// For LD_AUDIT.
  [[nodiscard]] const std::string& library() const { return library_; }
  /// Where the library connects to.
  [[nodiscard]] std::string socket() const;
  /// A listening SOCK_SEQPACKET socket, not blocking, closed on exec.
  [[nodiscard]] int listener() const { return listener_.get(); }
  /// The library stays when this ends; the socket does not. For processes of the command that go
  /// on: ld.so complains on the stderr of each program that is started with an LD_AUDIT that is not
  /// there.
  void keep_library() { keeps_library_ = true; }

 private:
  friend Result<RecorderFiles> lay_recorder(const std::vector<std::string>& places);
  RecorderFiles();
  static Result<RecorderFiles> lay_at(const std::string& named);
  void remove() noexcept;
  std::string directory_;
  std::string library_;
  std::unique_ptr<RecorderFolder> folder_;
  UniqueFd listener_;
  bool keeps_library_ = false;
  pid_t owner_ = 0;
};

/// Folders in which the recorder may be laid, best first: $TMPDIR, /tmp, /dev/shm, /var/tmp, the
/// user's runtime folder.
std::vector<std::string> recorder_places();

/// Lays it into a new folder (mode 0711, a random name) below the first of `places` that has room
/// and allows libraries to be loaded from it, and where nobody but the caller and root can put
/// something else by its path. Errors: io (names each place and its reason).
Result<RecorderFiles> lay_recorder(const std::vector<std::string>& places);

}  // namespace cudart_doctor
