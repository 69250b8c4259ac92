#include "elf_image.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor::elf {

Result<ImageBytes> ImageBytes::open(ByteSource& source, ElfImage kind, std::uint64_t base) {
  ImageBytes image(source, kind, base);
  if (auto header = image.read_header(); !header) return tl::unexpected(header.error());
  return image;
}

Result<void> ImageBytes::read_header() {
  std::array<std::byte, kHeaderSize> raw{};
  const std::size_t size = cache_.read(0, raw);
  if (size == 0) {
    if (cache_.error()) return tl::unexpected(*cache_.error());
    return fail(ErrorKind::malformed, "empty file");
  }
  constexpr std::string_view kMagic =
      "\x7f"
      "ELF";
  if (size < kMagic.size() || std::memcmp(raw.data(), kMagic.data(), kMagic.size()) != 0) {
    return fail(ErrorKind::malformed, "not an ELF file");
  }
  if (size < kHeaderSize) return fail(ErrorKind::malformed, "ends inside its ELF header");
  const auto elf_class = load<std::uint8_t>(raw, 4);
  const auto byte_order = load<std::uint8_t>(raw, 5);
  if (elf_class == 1) return fail(ErrorKind::unsupported, "32-bit ELF");
  if (byte_order == 2) return fail(ErrorKind::unsupported, "big-endian ELF");
  if (elf_class != 2 || byte_order != 1) return fail(ErrorKind::malformed, "not an ELF file");
  header_.type = load<std::uint16_t>(raw, 16);
  header_.machine = load<std::uint16_t>(raw, 18);
  header_.section_offset = load<std::uint64_t>(raw, 40);
  header_.section_size = load<std::uint16_t>(raw, 58);
  header_.section_count = load<std::uint16_t>(raw, 60);
  header_.section_names = load<std::uint16_t>(raw, 62);
  const auto entry_size = load<std::uint16_t>(raw, 54);
  const auto count = segment_count(raw);
  if (!count) return tl::unexpected(count.error());
  if (*count > 0 && entry_size != kProgramHeaderSize) {
    return fail(ErrorKind::malformed, "program headers are of an odd size");
  }
  return read_segments(load<std::uint64_t>(raw, 32), *count);
}

Result<std::uint32_t> ImageBytes::segment_count(std::span<const std::byte> header) {
  constexpr std::uint16_t kInFirstSection = 0xffff;  // PN_XNUM
  std::uint32_t count = load<std::uint16_t>(header, 56);
  if (count == kInFirstSection) {
    std::array<std::byte, kSectionHeaderSize> first{};
    if (cache_.read(header_.section_offset, first) != first.size()) {
      return fail(ErrorKind::malformed, "ends before its first section header");
    }
    count = load<std::uint32_t>(first, 44);
  }
  if (count > kMaxProgramHeaders) {
    return fail(ErrorKind::limit, "claims more than 256 program headers");
  }
  return count;
}

Result<void> ImageBytes::read_segments(std::uint64_t offset, std::uint32_t count) {
  std::vector<std::byte> room;
  const auto raw = bytes(offset, count * kProgramHeaderSize, room);
  if (raw.size() != count * kProgramHeaderSize) {
    return fail(ErrorKind::malformed, "ends inside its program headers");
  }
  segments_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto entry = raw.subspan(i * kProgramHeaderSize, kProgramHeaderSize);
    ProgramHeader segment;
    segment.type = load<std::uint32_t>(entry, 0);
    segment.flags = load<std::uint32_t>(entry, 4);
    segment.offset = load<std::uint64_t>(entry, 8);
    segment.vaddr = load<std::uint64_t>(entry, 16);
    segment.filesz = load<std::uint64_t>(entry, 32);
    segment.memsz = load<std::uint64_t>(entry, 40);
    segment.align = load<std::uint64_t>(entry, 48);
    segments_.push_back(segment);
  }
  const auto first = std::find_if(segments_.begin(), segments_.end(),
                                  [](const auto& segment) { return segment.type == kPtLoad; });
  // The first PT_LOAD holds the ELF header, so that its address minus its offset is the address
  // of the header.
  if (first != segments_.end()) first_address_ = first->vaddr - first->offset;
  return {};
}

std::uint64_t ImageBytes::dynamic_address(std::uint64_t value) const {
  if (!is_memory()) return value;
  const std::uint64_t bias = base_ - first_address_;
  return value >= bias ? value - bias : value;
}

std::optional<Extent> ImageBytes::locate(std::uint64_t address) const {
  for (const ProgramHeader& segment : segments_) {
    if (segment.type != kPtLoad || address < segment.vaddr) continue;
    const std::uint64_t skip = address - segment.vaddr;
    const std::uint64_t size = is_memory() ? segment.memsz : segment.filesz;
    if (skip >= size) continue;
    if (is_memory()) return Extent{address - first_address_, size - skip};
    if (segment.offset > UINT64_MAX - skip) continue;
    return Extent{segment.offset + skip, size - skip};
  }
  return std::nullopt;
}

std::optional<Extent> ImageBytes::locate(const ProgramHeader& segment) const {
  if (!is_memory()) return Extent{segment.offset, segment.filesz};
  auto extent = locate(segment.vaddr);
  if (extent) extent->available = std::min(extent->available, segment.filesz);
  return extent;
}

std::span<const std::byte> ImageBytes::bytes(std::uint64_t offset, std::size_t size,
                                             std::vector<std::byte>& room) {
  const auto held = cache_.in_place(offset);
  if (held.size() >= size) return held.first(size);
  room.resize(size);
  room.resize(cache_.read(offset, room));
  return room;
}

bool ImageBytes::read_address(std::uint64_t address, std::span<std::byte> out) {
  const auto extent = locate(address);
  if (!extent || extent->available < out.size()) return false;
  return cache_.read(extent->offset, out) == out.size();
}

std::optional<std::string> ImageBytes::read_text(std::uint64_t offset, std::uint64_t limit) {
  constexpr std::size_t kStep = 128;
  limit = std::min<std::uint64_t>(limit, kMaxString);
  const std::string_view held = as_text(cache_.in_place(offset)).substr(0, limit);
  if (const auto end = held.find('\0'); end != std::string_view::npos) {
    return std::string(held.substr(0, end));
  }
  std::string text;
  while (text.size() < limit) {
    std::array<std::byte, kStep> piece;
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), limit - text.size()));
    const std::size_t count =
        cache_.read(saturating_add(offset, text.size()), std::span(piece).first(wanted));
    const std::string_view read = as_text(std::span(piece).first(count));
    const std::size_t end = read.find('\0');
    text.append(read.substr(0, end));
    if (end != std::string_view::npos) return text;
    if (count < wanted) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cudart_doctor::elf
