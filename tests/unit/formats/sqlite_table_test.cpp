// SQLite tables on databases of a few pages, made byte by byte; tests/oracle has real ones.
#include "cudart_doctor/formats/sqlite_table.hpp"

#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr std::size_t kPage = 512;
using Next = SqliteReader::Next;

void put(std::string& page, std::size_t at, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    page[at + i] = static_cast<char>((value >> (8 * (size - 1 - i))) & 0xFFU);
  }
}

/// A leaf page with the cells at its end; `header` is 100 in the file's first page.
std::string leaf(const std::vector<std::string>& cells, std::size_t header = 0) {
  std::string page(kPage, '\0');
  page[header] = 13;
  put(page, header + 3, cells.size(), 2);
  std::size_t end = kPage;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    end -= cells[i].size();
    page.replace(end, cells[i].size(), cells[i]);
    put(page, header + 8 + 2 * i, end, 2);
  }
  return page;
}

std::string interior(const std::vector<std::pair<std::uint32_t, char>>& children,
                     std::uint32_t last) {
  std::string page(kPage, '\0');
  page[0] = 5;
  put(page, 3, children.size(), 2);
  put(page, 8, last, 4);
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::size_t at = kPage - 8 * (i + 1);
    put(page, at, children[i].first, 4);
    page[at + 4] = children[i].second;
    put(page, 12 + 2 * i, at, 2);
  }
  return page;
}

/// A row of one text that fits into a page.
std::string cell(char number, const std::string& text) {
  const auto type = static_cast<char>(13 + 2 * text.size());
  const std::string record = std::string{'\2', type} + text;
  return std::string{static_cast<char>(record.size()), number} + record;
}

std::string master_cell() {
  // type "table", name "T", tbl_name "T", rootpage 2 (one byte), sql "".
  const std::string record = std::string{'\6', '\x17', '\x0f', '\x0f', '\1', '\x0d'} + "tableTT\2";
  return std::string{static_cast<char>(record.size()), '\1'} + record;
}

std::string database(const std::vector<std::string>& pages) {
  std::string first = leaf({master_cell()}, 100);
  first.replace(0, 16, std::string("SQLite format 3\0", 16));
  put(first, 16, kPage, 2);
  put(first, 18, 0x0101, 2);
  put(first, 56, 1, 4);
  std::string out = first;
  for (const std::string& page : pages) out += page;
  return out;
}

/// Numbers and texts of all rows of table T, or the error.
Result<std::string> rows_of(const std::string& bytes) {
  MemorySource source(std::as_bytes(std::span(bytes)));
  auto reader = SqliteReader::open(source);
  if (!reader) return tl::unexpected(reader.error());
  const auto root = reader->find_table("T");
  if (!root) return tl::unexpected(root.error());
  std::string out;
  const auto done = reader->scan(*root, [&](const SqliteRow& row) {
    out += std::to_string(row.number) + row.values.at(0).bytes + " ";
    return Next::go_on;
  });
  if (!done) return tl::unexpected(done.error());
  return out;
}

ErrorKind kind_of(const std::string& bytes) {
  const auto rows = rows_of(bytes);
  REQUIRE_FALSE(rows);
  return rows.error().kind;
}

std::string number_of_two_bytes(std::size_t value) {
  return {static_cast<char>(0x80U | (value >> 7U)), static_cast<char>(value & 0x7FU)};
}

/// A leaf with a row of one text that is `size` bytes long in all; `local` of them stay in the page
/// (the format's own formula), the rest is in a chain that begins at page 3.
std::string spilling_leaf(std::size_t size, std::size_t local) {
  const std::string row = "\4" + number_of_two_bytes(13 + 2 * (size - 4)) + std::string(1, '\0') +
                          std::string(size - 4, 'x');
  std::string chain(4, '\0');
  put(chain, 0, 3, 4);
  return leaf({number_of_two_bytes(size) + "\1" + row.substr(0, local) + chain});
}

/// An overflow page.
std::string overflow(std::uint32_t next) {
  std::string page(kPage, 'x');
  put(page, 0, next, 4);
  return page;
}

}  // namespace

TEST_CASE("rows come in order from leaves below an interior page") {
  const std::string bytes =
      database({interior({{3, 2}}, 4), leaf({cell(1, "a"), cell(2, "b")}), leaf({cell(9, "")})});
  const auto rows = rows_of(bytes);
  REQUIRE(rows);
  CHECK(*rows == "1a 2b 9 ");
}

TEST_CASE("a row is found by its number, and one that is not there is not") {
  const std::string bytes =
      database({interior({{3, 2}}, 4), leaf({cell(1, "a"), cell(2, "b")}), leaf({cell(9, "c")})});
  MemorySource source(std::as_bytes(std::span(bytes)));
  auto reader = SqliteReader::open(source);
  REQUIRE(reader);
  CHECK(reader->find_row(2, 2)->value().values[0].bytes == "b");
  CHECK(reader->find_row(2, 9)->value().values[0].bytes == "c");
  CHECK_FALSE(reader->find_row(2, 5)->has_value());
  CHECK_FALSE(reader->find_row(2, -1)->has_value());
}

TEST_CASE("a table that is not there is not found") {
  const std::string bytes = database({leaf({})});
  MemorySource source(std::as_bytes(std::span(bytes)));
  auto reader = SqliteReader::open(source);
  REQUIRE(reader);
  CHECK(reader->find_table("U").error().kind == ErrorKind::not_found);
}

TEST_CASE("pages that lead back to themselves are malformed") {
  CHECK(kind_of(database({interior({}, 2)})) == ErrorKind::malformed);
  CHECK(kind_of(database({interior({{3, 1}}, 3), interior({}, 2)})) == ErrorKind::malformed);
  const std::string bytes = database({interior({}, 2)});
  MemorySource circle(std::as_bytes(std::span(bytes)));
  auto reader = SqliteReader::open(circle);
  REQUIRE(reader);
  CHECK(reader->find_row(2, 1).error().kind == ErrorKind::malformed);
}

TEST_CASE("children are not remembered beyond what may be read, however large the file is") {
  // A page that names itself fifty times, in a sparse file.
  const std::vector<std::pair<std::uint32_t, char>> itself(50, {2, '\1'});
  class Sparse final : public ByteSource {
   public:
    explicit Sparse(std::string begin) : begin_(std::move(begin)) {}
    Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
      ++reads;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool there = offset + i < begin_.size();
        out[i] = there ? static_cast<std::byte>(begin_[offset + i]) : std::byte{0};
      }
      return out.size();
    }
    [[nodiscard]] std::optional<std::uint64_t> size() const override { return 1ULL << 43U; }
    std::size_t reads = 0;

   private:
    std::string begin_;
  };
  Sparse source(database({interior(itself, 2)}));
  auto reader = SqliteReader::open(source);
  REQUIRE(reader);
  const auto done = reader->scan(2, [](const SqliteRow&) { return Next::go_on; });
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::limit);
  CHECK(source.reads * itself.size() < 2 * SqliteReader::kMaxBytes / kPage);
}

TEST_CASE("pages, cells and columns that lie are malformed") {
  std::string many = leaf({cell(1, "a")});
  put(many, 3, 0xFFFF, 2);
  std::string outside = leaf({cell(1, "a")});
  put(outside, 8, kPage - 1, 2);
  std::string large = leaf({std::string{'\x7f', '\1', '\2'}});
  std::string reserved_type = leaf({std::string{'\2', '\1', '\2', '\x0a'}});
  std::string header_outside = leaf({std::string{'\2', '\1', '\x7f', '\1'}});
  std::string column_outside = leaf({std::string{'\2', '\1', '\2', '\x7f'}});
  std::string index_page = leaf({});
  index_page[0] = 10;
  for (const std::string& page : {many, outside, large, reserved_type, header_outside,
                                  column_outside, index_page, interior({}, 99), interior({}, 0)}) {
    CHECK(kind_of(database({page})) == ErrorKind::malformed);
  }
}

TEST_CASE("a row is put together from its overflow pages") {
  const auto one = rows_of(database({spilling_leaf(600, 92), overflow(0)}));
  REQUIRE(one);
  CHECK(*one == "1" + std::string(596, 'x') + " ");
  const auto two = rows_of(database({spilling_leaf(1200, 184), overflow(4), overflow(0)}));
  REQUIRE(two);
  CHECK(*two == "1" + std::string(1196, 'x') + " ");
}

TEST_CASE("a chain of overflow pages that ends early is malformed, one in circles is not endless") {
  CHECK(kind_of(database({spilling_leaf(1200, 184), overflow(0), overflow(0)})) ==
        ErrorKind::malformed);
  CHECK(kind_of(database({spilling_leaf(1200, 184), overflow(99), overflow(0)})) ==
        ErrorKind::malformed);
  CHECK(rows_of(database({spilling_leaf(1200, 184), overflow(3), overflow(3)})));
}

TEST_CASE("a row larger than the file or the limit is refused before it is read") {
  const std::string huge{static_cast<char>(0xFF),
                         static_cast<char>(0xFF),
                         static_cast<char>(0xFF),
                         static_cast<char>(0xFF),
                         static_cast<char>(0xFF),
                         '\x7f',
                         '\1'};
  CHECK(kind_of(database({leaf({huge})})) == ErrorKind::limit);
  const std::string larger{static_cast<char>(0x84), static_cast<char>(0x80), '\0', '\1'};
  CHECK(kind_of(database({leaf({larger})})) == ErrorKind::malformed);
}

TEST_CASE("what is no SQLite database of a known format is refused") {
  const std::string good = database({leaf({})});
  REQUIRE(rows_of(good));
  const auto changed = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string bytes = good;
    put(bytes, at, value, size);
    return kind_of(bytes);
  };
  CHECK(kind_of("") == ErrorKind::malformed);
  CHECK(changed(0, 'X', 1) == ErrorKind::malformed);
  CHECK(changed(16, 513, 2) == ErrorKind::malformed);
  CHECK(changed(16, 256, 2) == ErrorKind::malformed);
  CHECK(changed(16, 0, 2) == ErrorKind::malformed);
  CHECK(changed(20, 255, 1) == ErrorKind::malformed);
  CHECK(changed(19, 3, 1) == ErrorKind::unsupported);
  CHECK(changed(56, 2, 4) == ErrorKind::unsupported);
}

TEST_CASE("a database that is cut anywhere is an error or gives fewer rows") {
  const std::string whole =
      database({interior({{3, 2}}, 4), leaf({cell(1, "a"), cell(2, "b")}), leaf({cell(9, "")})});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CHECK_FALSE(rows_of(whole.substr(0, size)));
  }
}
