// A file as ByteSource: pread only, so that a file that shrinks gives a short read, not a signal.
#pragma once

#include <cstdint>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class FileSource final : public ByteSource {
 public:
  /// Takes an open descriptor of a regular file of `size` bytes.
  FileSource(UniqueFd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}
  /// The same; the first bytes are read into `buffer`, which must outlive this.
  FileSource(UniqueFd fd, std::uint64_t size, std::span<std::byte> buffer);
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return size_; }
  [[nodiscard]] std::span<const std::byte> head() const override { return head_; }

 private:
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::span<const std::byte> head_;
};

}  // namespace cudart_doctor
