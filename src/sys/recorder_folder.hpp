// The folder that a recorder lies in, held by descriptor: the command runs as the same user and can
// put anything in the place of a name, a link to somebody's files too.
#pragma once

#include <sys/stat.h>

#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

constexpr char kRecorderLibrary[] = "recorder.so";
constexpr char kRecorderSocket[] = "socket";

/// The path of a place without links in it, where nobody but its user and root can change what is
/// found by that path. Errors: io, with the reason.
Result<std::string> sound_place(const std::string& place);

class RecorderFolder {
 public:
  RecorderFolder() = default;  ///< None.
  /// Makes `name` (mode 0711) in `place`. Errors: io.
  static Result<RecorderFolder> make(const std::string& place, const std::string& name);
  /// Opens one that is there. Errors: io, also where it is a link or not the caller's own.
  static Result<RecorderFolder> open(int place, const std::string& name);

  [[nodiscard]] bool valid() const { return folder_.valid(); }
  [[nodiscard]] int descriptor() const { return folder_.get(); }
  /// Removes the socket, whatever has become of the folder's name.
  void remove_socket() const;
  /// Removes the socket, the library, and the folder itself where nothing else is in it and its
  /// name still means it.
  void remove() const;

 private:
  UniqueFd place_;
  UniqueFd folder_;
  std::string name_;
};

}  // namespace cudart_doctor
