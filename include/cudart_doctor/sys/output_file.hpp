// Where the report goes: stdout, a file that is replaced as a whole, or a device written in place.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// Writes `bytes` to `path`; "-" is stdout. A regular file is replaced by atomic rename, so that a
/// reader never sees half a report and a full disk leaves the old one; its mode, and where allowed
/// its owner, stay, and a link to it stays a link. Devices, pipes, mount points (a container's
/// termination log is one) and files in a folder where none may be made are written in place. A
/// reader that closed the pipe is no error. Errors: usage, naming the path; another user's link
/// (Place::find) or file (Place::is_strangers) is one.
Result<void> write_output(const std::string& path, std::string_view bytes);

/// Whether write_output could do so now, as far as can be told without writing. Errors: usage,
/// naming the path.
Result<void> check_output(const std::string& path);

/// Writes all of `bytes` to a descriptor; EINTR is retried. Errors: io with errno.
Result<void> write_all(int fd, std::string_view bytes);

}  // namespace cudart_doctor
