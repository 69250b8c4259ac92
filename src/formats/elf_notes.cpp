#include "elf_notes.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor::elf {
namespace {

constexpr std::size_t kNoteHeader = 12;
constexpr std::uint32_t kGnuBuildId = 3;  // NT_GNU_BUILD_ID
constexpr std::size_t kMaxBuildId = 64;

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(2 * bytes.size(), '\0');
  char* at = text.data();
  for (const std::byte byte : bytes) {
    *at++ = kDigits[std::to_integer<unsigned>(byte) >> 4U];
    *at++ = kDigits[std::to_integer<unsigned>(byte) & 0x0FU];
  }
  return text;
}

/// The JSON object in a descriptor, without the NULs around it. Some libraries (Orin's) pad the
/// descriptor differently than their section's alignment says.
std::optional<std::string> json_in(std::span<const std::byte> descriptor) {
  std::string_view text = as_text(descriptor);
  const std::size_t begin = text.find_first_not_of(std::string_view("\0 \t\r\n", 5));
  if (begin == std::string_view::npos || text[begin] != '{') return std::nullopt;
  const std::size_t end = text.rfind('}');
  if (end == std::string_view::npos || end < begin) return std::nullopt;
  return std::string(text.substr(begin, end - begin + 1));
}

bool is_nvidia_owner(std::string_view owner) {
  return owner.find("NVIDIA") != std::string_view::npos ||
         owner.find("cuda") != std::string_view::npos ||
         owner.find("CUDA") != std::string_view::npos;
}

/// `alignment` is a power of two.
std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace

bool parse_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Notes& notes) {
  const std::uint64_t step = alignment == 8 ? 8 : 4;
  const std::uint64_t total = bytes.size();
  std::uint64_t at = 0;
  while (fits(at, kNoteHeader, total)) {
    const auto name_size = load<std::uint32_t>(bytes, at);
    const auto text_size = load<std::uint32_t>(bytes, at + 4);
    const auto type = load<std::uint32_t>(bytes, at + 8);
    const std::uint64_t name_at = at + kNoteHeader;
    if (!fits(name_at, name_size, total)) return false;
    std::string_view owner = as_text(bytes.subspan(name_at, name_size));
    owner = owner.substr(0, owner.find('\0'));
    const std::uint64_t text_at = align_up(name_at + name_size, step);
    if (!fits(text_at, text_size, total)) return false;
    const auto descriptor = bytes.subspan(text_at, text_size);
    if (owner == "GNU" && type == kGnuBuildId && !notes.build_id) {
      if (descriptor.size() > kMaxBuildId) return false;
      notes.build_id = to_hex(descriptor);
    } else if (is_nvidia_owner(owner) && !notes.compat_text) {
      notes.compat_text = json_in(descriptor);
    }
    at = align_up(text_at + text_size, step);
  }
  return true;
}

Notes read_notes(ImageBytes& image, std::vector<std::string>& damage) {
  Notes notes;
  std::uint64_t budget = kMaxNoteBytes;
  for (const ProgramHeader& segment : image.segments()) {
    if (segment.type != kPtNote || segment.filesz == 0) continue;
    if (segment.filesz > budget) {
      damage.emplace_back("notes are larger than 64 KiB");
      return notes;
    }
    budget -= segment.filesz;
    std::vector<std::byte> room;
    const auto extent = image.locate(segment);
    const auto bytes = extent && extent->available >= segment.filesz
                           ? image.bytes(extent->offset, segment.filesz, room)
                           : std::span<const std::byte>();
    if (bytes.size() != segment.filesz) {
      damage.emplace_back("notes lie past the end");
      continue;
    }
    if (!parse_notes(bytes, segment.align, notes)) notes.cut = true;
  }
  return notes;
}

}  // namespace cudart_doctor::elf
