// Tables of an SQLite database file, as far as a reader of rpm's database needs them: rows of a
// table in order, and one row by its number. Read only; no index, no SQL, no journal. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// A column of a row. What is neither a whole number nor text nor a blob reads as null.
struct SqliteValue {
  enum class Kind : std::uint8_t { null, integer, bytes } kind = Kind::null;
  std::int64_t integer = 0;
  std::string bytes;
};

struct SqliteRow {
  std::int64_t number = 0;  ///< rowid; the column that is declared INTEGER PRIMARY KEY is null.
  std::vector<SqliteValue> values;
};

class SqliteReader {
 public:
  enum class Next : bool { stop, go_on };
  using RowTaker = std::function<Next(const SqliteRow& row)>;

  /// `source` must outlive this. Errors: malformed (no database), unsupported (text that is not
  /// UTF-8, a format of the future), io.
  static Result<SqliteReader> open(ByteSource& source);

  /// The page at which a table begins. Errors: not_found; as of scan.
  Result<std::uint32_t> find_table(std::string_view name);
  /// Gives each row to `take` until it stops. Errors: malformed, limit (more than kMaxBytes were
  /// read, a row larger than kMaxRow), io.
  Result<void> scan(std::uint32_t root, const RowTaker& take);
  /// The row of that number; nothing where there is none. Errors as of scan.
  Result<std::optional<SqliteRow>> find_row(std::uint32_t root, std::int64_t number);

  static constexpr std::uint64_t kMaxBytes = 512U << 20U;  ///< Of one reader, in all.
  static constexpr std::uint64_t kMaxRow = 64U << 20U;

 private:
  struct Page {
    std::vector<std::byte> bytes;
    std::size_t header = 0;  ///< Where the tree's header begins: behind the file's in page 1.
    bool leaf = false;
    std::uint32_t cells = 0;
  };
  struct Cell {
    std::uint64_t size = 0;  ///< Of the row, in bytes.
    std::int64_t number = 0;
    std::size_t begin = 0;  ///< Of the row's bytes in the page.
  };
  explicit SqliteReader(ByteSource& source) : source_(&source) {}
  Result<void> read_page(std::uint32_t number, std::span<std::byte> out);
  Result<Page> tree_page(std::uint32_t number);
  [[nodiscard]] static Result<std::size_t> cell_at(const Page& page, std::uint32_t index);
  /// The child page and the largest row number in it; index `cells` is the last child.
  [[nodiscard]] static Result<std::pair<std::uint32_t, std::int64_t>> child_at(const Page& page,
                                                                               std::uint32_t index);
  [[nodiscard]] static Result<Cell> leaf_cell(const Page& page, std::uint32_t index);
  /// The bytes of a row, put together from its overflow pages.
  Result<std::vector<std::byte>> payload(const Page& page, const Cell& cell);
  Result<SqliteRow> row_of(const Page& page, const Cell& cell);

  ByteSource* source_;
  std::uint32_t page_size_ = 0;
  std::uint32_t usable_ = 0;  ///< Bytes of a page that are not reserved at its end.
  std::uint64_t pages_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace cudart_doctor
