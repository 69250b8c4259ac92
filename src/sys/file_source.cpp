#include "cudart_doctor/sys/file_source.hpp"

#include <cerrno>
#include <cstring>

namespace cudart_doctor {

FileSource::FileSource(UniqueFd fd, std::uint64_t size, std::span<std::byte> buffer)
    : FileSource(std::move(fd), size) {
  // An error is met again, and told, by the first read.
  head_ = buffer.first(read_at(0, buffer).value_or(0));
}

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
