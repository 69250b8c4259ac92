#include "cudart_doctor/sys/file_source.hpp"

#include <cerrno>
#include <cstring>

namespace cudart_doctor {

Result<std::size_t> FileSource::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > INT64_MAX) return std::size_t{0};
  while (true) {
    const ssize_t count = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) continue;
    return fail(ErrorKind::io, std::strerror(errno), errno);
  }
}

}  // namespace cudart_doctor
