// ElfImageBytes: headers of one object and reads by address in it. Knows the two shapes of an
// object, a file and a loaded image; everything above asks for addresses only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "block_cache.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "elf_format.hpp"

namespace cudart_doctor::elf {

struct Header {
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint64_t section_offset = 0;
  std::uint16_t section_size = 0;
  std::uint16_t section_count = 0;
  std::uint16_t section_names = 0;
};

/// Where an address lies in the source, and how many bytes follow in its segment.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t available = 0;
};

class ImageBytes {
 public:
  static Result<ImageBytes> open(ByteSource& source, ElfImage kind, std::uint64_t base);

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const std::vector<ProgramHeader>& segments() const { return segments_; }
  [[nodiscard]] bool is_memory() const { return kind_ == ElfImage::memory; }
  [[nodiscard]] std::optional<std::uint64_t> source_size() const { return cache_.source_size(); }
  [[nodiscard]] const std::optional<Error>& read_error() const { return cache_.error(); }

  /// The address that a DT_ entry means. The dynamic linker of glibc adds the load bias to them in
  /// place; that of musl and the kernel's vDSO leave them as they are.
  [[nodiscard]] std::uint64_t dynamic_address(std::uint64_t value) const;

  /// Where `address` (a vaddr) lies; nothing outside all PT_LOAD segments.
  [[nodiscard]] std::optional<Extent> locate(std::uint64_t address) const;

  /// Where the bytes of a segment that is not itself loaded lie (PT_NOTE, PT_INTERP, PT_DYNAMIC).
  [[nodiscard]] std::optional<Extent> locate(const ProgramHeader& segment) const;

  /// Reads at a source offset; returns how many bytes were there.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) {
    return cache_.read(offset, out);
  }

  /// `size` bytes at a source offset, or as many as are there: in place where the source holds them
  /// in memory, else read into `room`, which must outlive what is returned.
  std::span<const std::byte> bytes(std::uint64_t offset, std::size_t size,
                                   std::vector<std::byte>& room);

  /// Reads all of `out` at an address or returns false.
  bool read_address(std::uint64_t address, std::span<std::byte> out);

  /// The NUL-terminated text at a source offset, at most `limit` bytes long without its NUL.
  std::optional<std::string> read_text(std::uint64_t offset, std::uint64_t limit);

 private:
  ImageBytes(ByteSource& source, ElfImage kind, std::uint64_t base)
      : cache_(source), kind_(kind), base_(base) {}
  Result<void> read_header();
  Result<void> read_segments(std::uint64_t offset, std::uint32_t count);
  Result<std::uint32_t> segment_count(std::span<const std::byte> header);

  BlockCache cache_;
  ElfImage kind_;
  std::uint64_t base_;
  std::uint64_t first_address_ = 0;  ///< vaddr of the source's offset 0, in a memory image.
  Header header_;
  std::vector<ProgramHeader> segments_;
};

}  // namespace cudart_doctor::elf
