// A header of rpm's database: two counts, an index of 16 bytes an entry, then the data that it
// points into; all big-endian. Only names are read, and every offset is checked.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cudart_doctor/base/checked.hpp"
#include "cudart_doctor/formats/package_lists.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kEntrySize = 16;
constexpr std::uint32_t kMaxFiles = 1U << 20U;
// One directory name stands for many files: what they come to together is bounded as well.
constexpr std::size_t kMaxText = 64U << 20U;
constexpr std::uint32_t kInt32 = 4;
constexpr std::uint32_t kString = 6;
constexpr std::uint32_t kStringArray = 8;

enum class Tag : std::uint32_t {
  name = 1000,
  version = 1001,
  release = 1002,
  old_file_names = 1027,
  directory_indexes = 1116,
  base_names = 1117,
  directory_names = 1118,
};

std::uint32_t u32_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes.subspan(at, 4)) {
    value = (value << 8U) | std::to_integer<std::uint32_t>(byte);
  }
  return value;
}

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorKind::malformed, "rpm header: " + std::string(what));
}

struct Entry {
  std::uint32_t type = 0;
  std::uint32_t offset = 0;
  std::uint32_t count = 0;
};

class Header {
 public:
  static Result<Header> open(std::span<const std::byte> bytes) {
    if (bytes.size() < 8) return broken("it ends early");
    Header header;
    const std::uint64_t index_size = std::uint64_t{u32_at(bytes, 0)} * kEntrySize;
    const std::uint32_t data_size = u32_at(bytes, 4);
    if (!fits(8, index_size, bytes.size()) || !fits(8 + index_size, data_size, bytes.size())) {
      return broken("it ends early");
    }
    header.index_ = bytes.subspan(8, index_size);
    header.data_ = bytes.subspan(8 + index_size, data_size);
    return header;
  }

  /// Nothing where the header has no such tag of that type.
  [[nodiscard]] std::optional<Entry> find(Tag tag, std::uint32_t type) const {
    for (std::size_t at = 0; at < index_.size(); at += kEntrySize) {
      if (u32_at(index_, at) != static_cast<std::uint32_t>(tag)) continue;
      if (u32_at(index_, at + 4) != type) continue;
      return Entry{type, u32_at(index_, at + 8), u32_at(index_, at + 12)};
    }
    return std::nullopt;
  }

  [[nodiscard]] Result<std::vector<std::string_view>> texts(const Entry& entry) const {
    if (entry.count > kMaxFiles) return fail(ErrorKind::limit, "rpm header: more than 2^20 files");
    std::vector<std::string_view> out;
    std::size_t at = entry.offset;
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      if (at >= data_.size()) return broken("a text outside of its data");
      const std::byte* const begin = data_.data() + at;
      const void* const end = std::memchr(begin, 0, data_.size() - at);
      if (end == nullptr) return broken("a text outside of its data");
      const auto size = static_cast<std::size_t>(static_cast<const std::byte*>(end) - begin);
      out.emplace_back(static_cast<const char*>(static_cast<const void*>(begin)), size);
      at += size + 1;
    }
    return out;
  }

  [[nodiscard]] Result<std::vector<std::uint32_t>> numbers(const Entry& entry) const {
    if (entry.count > kMaxFiles) return fail(ErrorKind::limit, "rpm header: more than 2^20 files");
    if (!fits(entry.offset, std::uint64_t{entry.count} * 4, data_.size())) {
      return broken("a number outside of its data");
    }
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < entry.count; ++i) {
      out.push_back(u32_at(data_, entry.offset + std::size_t{4} * i));
    }
    return out;
  }

  [[nodiscard]] std::string text(Tag tag) const {
    const auto entry = find(tag, kString);
    const auto found = entry ? texts({kString, entry->offset, 1})
                             : Result<std::vector<std::string_view>>(broken("no such text"));
    return found ? std::string(found->front()) : std::string();
  }

 private:
  std::span<const std::byte> index_;
  std::span<const std::byte> data_;
};

Result<std::vector<std::string>> split_names(const Header& header, const KeepPath& keep) {
  const auto bases = header.find(Tag::base_names, kStringArray);
  const auto directories = header.find(Tag::directory_names, kStringArray);
  const auto indexes = header.find(Tag::directory_indexes, kInt32);
  std::vector<std::string> out;
  if (!bases || !directories || !indexes) return out;
  const auto names = header.texts(*bases);
  const auto folders = header.texts(*directories);
  const auto numbers = header.numbers(*indexes);
  if (!names) return tl::unexpected(names.error());
  if (!folders) return tl::unexpected(folders.error());
  if (!numbers) return tl::unexpected(numbers.error());
  if (numbers->size() != names->size()) return broken("not one directory for each file");
  std::size_t size = 0;
  for (std::size_t i = 0; i < names->size(); ++i) {
    if ((*numbers)[i] >= folders->size()) return broken("a directory that is not there");
    std::string path((*folders)[(*numbers)[i]]);
    size += path.size();
    if (size > kMaxText) return fail(ErrorKind::limit, "rpm header: more than 64 MiB of names");
    path.append((*names)[i]);
    if (keep(path)) out.push_back(std::move(path));
  }
  return out;
}

}  // namespace

Result<PackageRecord> parse_rpm_header(std::span<const std::byte> bytes, const KeepPath& keep) {
  const auto header = Header::open(bytes);
  if (!header) return tl::unexpected(header.error());
  PackageRecord record;
  record.name = header->text(Tag::name);
  if (record.name.empty()) return broken("it does not name its package");
  record.version = header->text(Tag::version);
  const std::string release = header->text(Tag::release);
  if (!release.empty()) record.version += "-" + release;
  auto paths = split_names(*header, keep);
  if (!paths) return tl::unexpected(paths.error());
  record.paths = std::move(*paths);
  // Packages built before rpm 4 list whole names.
  if (const auto whole = header->find(Tag::old_file_names, kStringArray)) {
    const auto names = header->texts(*whole);
    if (!names) return tl::unexpected(names.error());
    for (const std::string_view name : *names) {
      if (keep(name)) record.paths.emplace_back(name);
    }
  }
  return record;
}

}  // namespace cudart_doctor
