// The file format of https://www.sqlite.org/fileformat2.html, sections 1.3, 1.6, 2.1: header, table
// b-trees, overflow chains, records. Every number is compared before it is used: the file comes
// from the target's root.
#include "cudart_doctor/formats/sqlite_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kFileHeader = 100;
constexpr std::uint32_t kMaxPageSize = 65536;
constexpr std::size_t kMaxColumns = 64;
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxNumber = 9;  // bytes of a variable-length number

tl::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorKind::malformed, "SQLite database: " + std::string(what));
}

tl::unexpected<Error> too_much() {
  return fail(ErrorKind::limit, "SQLite database: more than 512 MiB to read");
}

/// A big-endian number of `size` bytes; the caller has checked that they are there.
std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes.subspan(at, size)) {
    value = (value << 8U) | std::to_integer<std::uint64_t>(byte);
  }
  return value;
}

struct Number {
  std::uint64_t value = 0;
  std::size_t size = 0;  ///< 0: the bytes end inside it.
};

/// 7 bits a byte, the high bit says that more follow; a ninth byte gives all of its 8 bits.
Number variable_number(std::span<const std::byte> bytes, std::size_t at) {
  Number out;
  for (std::size_t i = 0; i < kMaxNumber; ++i) {
    if (at >= bytes.size() || i >= bytes.size() - at) return {};
    const auto byte = std::to_integer<std::uint64_t>(bytes[at + i]);
    if (i + 1 == kMaxNumber) return {(out.value << 8U) | byte, kMaxNumber};
    out.value = (out.value << 7U) | (byte & 0x7FU);
    if ((byte & 0x80U) == 0) return {out.value, i + 1};
  }
  return {};
}

std::uint64_t size_of_type(std::uint64_t type) {
  constexpr std::uint64_t kFixed[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  return type < std::size(kFixed) ? kFixed[type] : (type - 12) / 2;
}

SqliteValue value_of(std::uint64_t type, std::span<const std::byte> bytes) {
  using Kind = SqliteValue::Kind;
  SqliteValue out;
  if (type >= 12) {
    out.kind = Kind::bytes;
    out.bytes.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(out.bytes.data(), bytes.data(), bytes.size());
  } else if (type == 8 || type == 9) {
    out.kind = Kind::integer;
    out.integer = type == 9 ? 1 : 0;
  } else if (type >= 1 && type <= 6) {
    out.kind = Kind::integer;
    const std::size_t unused = 64 - 8 * bytes.size();
    const std::uint64_t raw = number_at(bytes, 0, bytes.size()) << unused;
    out.integer = static_cast<std::int64_t>(raw) >> unused;
  }
  return out;
}

Result<std::vector<SqliteValue>> parse_record(std::span<const std::byte> bytes) {
  const Number header = variable_number(bytes, 0);
  if (header.size == 0 || header.value < header.size || header.value > bytes.size()) {
    return broken("a row's header ends outside of the row");
  }
  const auto types = bytes.first(header.value);
  std::vector<SqliteValue> out;
  std::size_t at = header.size;
  std::size_t data = header.value;
  while (at < types.size()) {
    const Number type = variable_number(types, at);
    if (type.size == 0 || type.value == 10 || type.value == 11) {
      return broken("a row has a column of no known type");
    }
    if (out.size() >= kMaxColumns) return broken("a row has more than 64 columns");
    const std::uint64_t size = size_of_type(type.value);
    if (!fits(data, size, bytes.size())) return broken("a column ends outside of its row");
    out.push_back(value_of(type.value, bytes.subspan(data, size)));
    at += type.size;
    data += size;
  }
  return out;
}

}  // namespace

Result<SqliteReader> SqliteReader::open(ByteSource& source) {
  std::vector<std::byte> header(kFileHeader);
  const auto count = source.read_at(0, header);
  if (!count) return tl::unexpected(count.error());
  if (*count < header.size() || std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    return broken("the file is none");
  }
  SqliteReader reader(source);
  const auto size = static_cast<std::uint32_t>(number_at(header, 16, 2));
  reader.page_size_ = size == 1 ? kMaxPageSize : size;
  const bool power = (reader.page_size_ & (reader.page_size_ - 1)) == 0;
  if (!power || reader.page_size_ < 512) return broken("an impossible page size");
  constexpr std::uint64_t kWriteAhead = 2;
  constexpr std::uint64_t kUtf8 = 1;
  if (number_at(header, 19, 1) > kWriteAhead) {
    return fail(ErrorKind::unsupported, "SQLite database: a format of the future");
  }
  if (number_at(header, 56, 4) > kUtf8) {
    return fail(ErrorKind::unsupported, "SQLite database: its text is not UTF-8");
  }
  const auto reserved = static_cast<std::uint32_t>(number_at(header, 20, 1));
  reader.usable_ = reader.page_size_ - reserved;
  if (reader.usable_ < 480) return broken("an impossible page size");
  const auto bytes = source.size();
  if (!bytes) return broken("of no known size");
  reader.pages_ = *bytes / reader.page_size_;
  return reader;
}

Result<void> SqliteReader::read_page(std::uint32_t number, std::span<std::byte> out) {
  if (number == 0 || number > pages_) return broken("a page that is not there");
  bytes_read_ += out.size();
  if (bytes_read_ > kMaxBytes) return too_much();
  return read_exact(*source_, (std::uint64_t{number} - 1) * page_size_, out);
}

Result<SqliteReader::Page> SqliteReader::tree_page(std::uint32_t number) {
  constexpr std::uint64_t kInterior = 5;
  constexpr std::uint64_t kLeaf = 13;
  Page page;
  page.bytes.resize(page_size_);
  if (auto read = read_page(number, page.bytes); !read) return tl::unexpected(read.error());
  page.bytes.resize(usable_);
  page.header = number == 1 ? kFileHeader : 0;
  const std::uint64_t type = number_at(page.bytes, page.header, 1);
  if (type != kInterior && type != kLeaf) return broken("a page that is not of a table");
  page.leaf = type == kLeaf;
  page.cells = static_cast<std::uint32_t>(number_at(page.bytes, page.header + 3, 2));
  return page;
}

Result<std::size_t> SqliteReader::cell_at(const Page& page, std::uint32_t index) {
  const std::size_t at = page.header + (page.leaf ? 8 : 12) + std::size_t{2} * index;
  if (!fits(at, 2, page.bytes.size())) return broken("a page with more cells than it can hold");
  return number_at(page.bytes, at, 2);
}

Result<std::pair<std::uint32_t, std::int64_t>> SqliteReader::child_at(const Page& page,
                                                                      std::uint32_t index) {
  if (index == page.cells) {
    const auto last = static_cast<std::uint32_t>(number_at(page.bytes, page.header + 8, 4));
    return std::pair{last, INT64_MAX};
  }
  const auto at = cell_at(page, index);
  if (!at) return tl::unexpected(at.error());
  if (!fits(*at, 4, page.bytes.size())) return broken("a cell outside of its page");
  const Number key = variable_number(page.bytes, *at + 4);
  if (key.size == 0) return broken("a cell outside of its page");
  return std::pair{static_cast<std::uint32_t>(number_at(page.bytes, *at, 4)),
                   static_cast<std::int64_t>(key.value)};
}

Result<SqliteReader::Cell> SqliteReader::leaf_cell(const Page& page, std::uint32_t index) {
  const auto at = cell_at(page, index);
  if (!at) return tl::unexpected(at.error());
  const Number size = variable_number(page.bytes, *at);
  const Number number = variable_number(page.bytes, *at + size.size);
  if (size.size == 0 || number.size == 0) return broken("a cell outside of its page");
  return Cell{size.value, static_cast<std::int64_t>(number.value), *at + size.size + number.size};
}

Result<std::vector<std::byte>> SqliteReader::payload(const Page& page, const Cell& cell) {
  if (cell.size > kMaxRow) return fail(ErrorKind::limit, "SQLite database: a row of over 64 MiB");
  if (cell.size > pages_ * page_size_) return broken("a row larger than the file");
  // How much of a row stays in its page is the format's own formula.
  const std::uint64_t most = usable_ - 35;
  const std::uint64_t least = (std::uint64_t{usable_} - 12) * 32 / 255 - 23;
  std::uint64_t local = cell.size;
  if (cell.size > most) {
    local = least + (cell.size - least) % (usable_ - 4);
    if (local > most) local = least;
  }
  const bool spills = local < cell.size;
  if (!fits(cell.begin, local + (spills ? 4 : 0), page.bytes.size())) {
    return broken("a row outside of its page");
  }
  const auto first = std::span(page.bytes).subspan(cell.begin, local);
  std::vector<std::byte> out(first.begin(), first.end());
  if (!spills) return out;
  auto next = static_cast<std::uint32_t>(number_at(page.bytes, cell.begin + local, 4));
  std::vector<std::byte> buffer(page_size_);
  while (out.size() < cell.size) {
    if (auto read = read_page(next, buffer); !read) return tl::unexpected(read.error());
    next = static_cast<std::uint32_t>(number_at(buffer, 0, 4));
    const std::size_t size = std::min<std::size_t>(cell.size - out.size(), usable_ - 4);
    const auto part = std::span(buffer).subspan(4, size);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

Result<SqliteRow> SqliteReader::row_of(const Page& page, const Cell& cell) {
  const auto bytes = payload(page, cell);
  if (!bytes) return tl::unexpected(bytes.error());
  auto values = parse_record(*bytes);
  if (!values) return tl::unexpected(values.error());
  return SqliteRow{cell.number, std::move(*values)};
}

Result<void> SqliteReader::scan(std::uint32_t root, const RowTaker& take) {
  std::vector<std::uint32_t> waiting = {root};
  std::uint64_t visited = 0;
  while (!waiting.empty()) {
    ++visited;
    const auto page = tree_page(waiting.back());
    waiting.pop_back();
    if (!page) return tl::unexpected(page.error());
    if (!page->leaf) {
      // A tree has each page once: what would visit more than the file holds goes in circles.
      const std::uint64_t known = visited + waiting.size() + page->cells + 1;
      if (known > pages_) return broken("a table that goes in circles");
      // A sparse file holds any number of pages. More than may be read need not be remembered.
      if (known > kMaxBytes / page_size_) return too_much();
      for (std::uint32_t i = page->cells + 1; i-- > 0;) {
        const auto child = child_at(*page, i);
        if (!child) return tl::unexpected(child.error());
        waiting.push_back(child->first);
      }
      continue;
    }
    for (std::uint32_t i = 0; i < page->cells; ++i) {
      const auto cell = leaf_cell(*page, i);
      if (!cell) return tl::unexpected(cell.error());
      const auto row = row_of(*page, *cell);
      if (!row) return tl::unexpected(row.error());
      if (take(*row) == Next::stop) return {};
    }
  }
  return {};
}

Result<std::optional<SqliteRow>> SqliteReader::find_row(std::uint32_t root, std::int64_t number) {
  std::uint32_t at = root;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const auto page = tree_page(at);
    if (!page) return tl::unexpected(page.error());
    if (page->leaf) {
      for (std::uint32_t i = 0; i < page->cells; ++i) {
        const auto cell = leaf_cell(*page, i);
        if (!cell) return tl::unexpected(cell.error());
        if (cell->number != number) continue;
        auto row = row_of(*page, *cell);
        if (!row) return tl::unexpected(row.error());
        return std::optional<SqliteRow>(std::move(*row));
      }
      return std::optional<SqliteRow>();
    }
    for (std::uint32_t i = 0; i <= page->cells; ++i) {
      const auto child = child_at(*page, i);
      if (!child) return tl::unexpected(child.error());
      if (number > child->second) continue;
      at = child->first;
      break;
    }
  }
  return broken("a table that goes in circles");
}

Result<std::uint32_t> SqliteReader::find_table(std::string_view name) {
  // sqlite_master: type, name, tbl_name, rootpage, sql.
  std::uint32_t root = 0;
  const auto done = scan(1, [&](const SqliteRow& row) {
    const bool is_it = row.values.size() >= 4 && row.values[0].bytes == "table" &&
                       row.values[1].bytes == name && row.values[3].integer > 0 &&
                       row.values[3].integer <= INT32_MAX;
    if (is_it) root = static_cast<std::uint32_t>(row.values[3].integer);
    return is_it ? Next::stop : Next::go_on;
  });
  if (!done) return tl::unexpected(done.error());
  if (root == 0) {
    return fail(ErrorKind::not_found, "SQLite database: no table " + std::string(name));
  }
  return root;
}

}  // namespace cudart_doctor
