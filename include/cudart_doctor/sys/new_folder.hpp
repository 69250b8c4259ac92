// A folder for what is kept: a snapshot, a recording.
#pragma once

#include <string>
#include <utility>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/place.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

class NewFolder {
 public:
  /// Makes the folder `path` (mode 0700), or opens the empty one that is there. Errors,
  /// which name the path: usage (it holds something, another user's link is on the way, or another
  /// user made it in a folder to which all may write), and as system_error says.
  static Result<NewFolder> make(const std::string& path);

  [[nodiscard]] int fd() const { return directory_.fd(); }
  /// Takes it away again where it was made here and holds nothing.
  void remove() const;

 private:
  NewFolder(Place place, ProcDirectory directory, bool made)
      : place_(std::move(place)), directory_(std::move(directory)), made_(made) {}

  Place place_;
  ProcDirectory directory_;
  bool made_ = false;
};

}  // namespace cudart_doctor
