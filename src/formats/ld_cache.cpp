// ld.so.cache as glibc's sysdeps/generic/dl-cache.h lays it out. Every offset is checked: the file
// comes from the target's root, which may be anybody's container image.
#include "cudart_doctor/formats/ld_cache.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kOldMagic = "ld.so-1.7.0";
constexpr std::string_view kNewMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kOldHeader = 16;  // magic, padding, nlibs
constexpr std::size_t kOldEntry = 12;
constexpr std::size_t kNewHeader = 48;
constexpr std::size_t kNewEntry = 24;
constexpr std::size_t kAlignment = 8;  // of struct cache_file_new
constexpr std::uint32_t kMaxEntries = 1U << 20U;
constexpr std::size_t kMaxString = 4096;

std::uint32_t u32_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool has_magic(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

/// The part of `bytes` that begins with the new header; its string offsets count from there.
Result<std::span<const std::byte>> find_new_part(std::span<const std::byte> bytes) {
  if (has_magic(bytes, kNewMagic)) return bytes;
  if (!has_magic(bytes, kOldMagic)) return fail(ErrorKind::malformed, "not an ld.so.cache");
  if (bytes.size() < kOldHeader) return fail(ErrorKind::malformed, "ends inside its header");
  const std::uint64_t old_entries = u32_at(bytes, kOldHeader - 4);
  std::uint64_t begin = kOldHeader + old_entries * kOldEntry;
  begin = (begin + kAlignment - 1) / kAlignment * kAlignment;
  if (!fits(begin, kNewMagic.size(), bytes.size()) || !has_magic(bytes.subspan(begin), kNewMagic)) {
    return fail(ErrorKind::malformed, "holds only the format of before glibc 2.2");
  }
  return bytes.subspan(begin);
}

std::optional<std::string_view> string_at(std::span<const std::byte> bytes, std::uint32_t at) {
  if (at >= bytes.size()) return std::nullopt;
  const std::size_t limit = std::min(bytes.size() - at, kMaxString);
  const std::byte* const begin = bytes.data() + at;
  const void* const end = std::memchr(begin, 0, limit);
  if (end == nullptr) return std::nullopt;
  const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(end) - begin);
  return std::string_view(static_cast<const char*>(static_cast<const void*>(begin)), size);
}

Result<void> check_byte_order(std::span<const std::byte> bytes) {
  constexpr std::size_t kFlags = 28;
  constexpr unsigned kMask = 3;
  constexpr unsigned kUnset = 0;  // written before glibc 2.33
  constexpr unsigned kLittle = 2;
  const unsigned order = std::to_integer<unsigned>(bytes[kFlags]) & kMask;
  if (order == kUnset || order == kLittle) return {};
  return fail(ErrorKind::unsupported, "written for another byte order");
}

}  // namespace

Result<std::vector<LoaderCacheEntry>> parse_ld_cache(
    std::span<const std::byte> bytes, const std::function<bool(std::string_view)>& keep) {
  constexpr std::size_t kCount = 20;
  const auto part = find_new_part(bytes);
  if (!part) return tl::unexpected(part.error());
  if (part->size() < kNewHeader) return fail(ErrorKind::malformed, "ends inside its header");
  if (const auto order = check_byte_order(*part); !order) return tl::unexpected(order.error());
  const std::uint32_t count = u32_at(*part, kCount);
  if (count > kMaxEntries) return fail(ErrorKind::limit, "claims more than 1048576 entries");
  if (!fits(kNewHeader, std::uint64_t{count} * kNewEntry, part->size())) {
    return fail(ErrorKind::malformed, "ends inside its entries");
  }
  std::vector<LoaderCacheEntry> entries;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::span<const std::byte> raw = part->subspan(kNewHeader + i * kNewEntry, kNewEntry);
    const auto soname = string_at(*part, u32_at(raw, 4));
    const auto path = string_at(*part, u32_at(raw, 8));
    if (!soname || !path) {
      return fail(ErrorKind::malformed, "entry " + std::to_string(i) + " points outside the file");
    }
    if (!keep(*soname)) continue;
    LoaderCacheEntry entry;
    entry.soname = std::string(*soname);
    entry.path = std::string(*path);
    entry.flags = u32_at(raw, 0);
    entry.hwcap = u32_at(raw, 16) != 0 || u32_at(raw, 20) != 0;
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace cudart_doctor
