// rpm: its SQLite database, by the way that rpm itself takes: the table of file names leads to the
// numbers of the few headers that must be read.
#include <array>
#include <set>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/sqlite_table.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kBlock = 256U << 10U;
constexpr std::size_t kMaxHeaders = 10000;

/// Numbers of the headers that list a file of one of the names.
Result<std::set<std::int64_t>> headers_with(OwnerSearch& search, SqliteReader& database,
                                            const std::set<std::string, std::less<>>& names) {
  const auto root = database.find_table("Basenames");
  if (!root) return tl::unexpected(root.error());
  std::set<std::int64_t> numbers;
  bool any = false;
  const auto done = database.scan(*root, [&](const SqliteRow& row) {
    any = true;
    // key, hnum, idx
    if (row.values.size() >= 2 && names.contains(row.values[0].bytes)) {
      numbers.insert(row.values[1].integer);
    }
    const bool more = numbers.size() < kMaxHeaders && !search.is_spent();
    return more ? SqliteReader::Next::go_on : SqliteReader::Next::stop;
  });
  if (!done) return tl::unexpected(done.error());
  // An empty one is what `rpm --initdb` leaves, on systems that use rpm for nothing.
  if (any) search.note_system_database();
  if (numbers.size() >= kMaxHeaders) return fail(ErrorKind::limit, "more than 10000 packages");
  return numbers;
}

Result<void> read_headers(OwnerSearch& search, SqliteReader& database) {
  std::set<std::string, std::less<>> names;
  for (const std::size_t index : search.open_queries()) {
    for (const std::string& name : search.query(index).names) names.emplace(base_name(name));
  }
  const auto numbers = headers_with(search, database, names);
  if (!numbers) return tl::unexpected(numbers.error());
  if (numbers->empty()) return {};
  const auto root = database.find_table("Packages");
  if (!root) return tl::unexpected(root.error());
  for (const std::int64_t number : *numbers) {
    if (search.is_spent()) return fail(ErrorKind::limit, std::string(kNoTime));
    const auto row = database.find_row(*root, number);
    if (!row) return tl::unexpected(row.error());
    if (!*row || (*row)->values.size() < 2)
      return fail(ErrorKind::malformed, "a header is missing");
    const auto record =
        parse_rpm_header(std::as_bytes(std::span((*row)->values[1].bytes)), search.keep_below("/"));
    if (!record) return tl::unexpected(record.error());
    search.claim(record->paths, {PackageKind::rpm, record->name, record->version});
  }
  return {};
}

Result<void> read_database(OwnerSearch& search, const std::string& path, const FoundPath& found) {
  const CaptureContext& context = search.context();
  // What stands in the log is not in the file yet; a journal means a change that was cut off.
  for (const char* end : {"-wal", "-journal"}) {
    const auto log = context.files.stat(path + end);
    if (log && log->size > 0) return fail(ErrorKind::unsupported, "it has an unfinished change");
  }
  auto file = context.files.open_regular(found, path);
  if (!file) return tl::unexpected(file.error());
  FileSource plain(std::move(file->fd), file->info.size);
  CachedSource source(plain, kBlock);
  auto database = SqliteReader::open(source);
  if (!database) return tl::unexpected(database.error());
  return read_headers(search, *database);
}

/// True where rpm keeps its database in `folder`.
bool look_in(OwnerSearch& search, const std::string& folder) {
  const CaptureContext& context = search.context();
  const std::string path = folder + "/rpmdb.sqlite";
  if (context.is_skipped(path)) {
    search.leave_all_open(path + ": " + std::string(kNoAnswer));
    return true;
  }
  context.progress("read package records", path);
  const auto found = context.files.find(path);
  if (found) {
    const auto done = read_database(search, path, *found);
    if (!done) search.leave_all_open(trouble_at(path, done.error().message));
    return true;
  }
  if (found.error().kind != ErrorKind::not_found) {
    search.leave_all_open(trouble_at(path, found.error().message));
    return true;
  }
  for (const char* name : {"/Packages", "/Packages.db"}) {
    const auto old = context.files.stat(folder + name);
    if (!old && old.error().kind == ErrorKind::not_found) continue;
    search.leave_all_open(trouble_at(
        folder + name, old ? "an rpm database of an older format" : old.error().message));
    return true;
  }
  return false;
}

}  // namespace

void search_rpm(OwnerSearch& search) {
  if (search.is_done()) return;
  for (const char* folder : {"/usr/lib/sysimage/rpm", "/usr/share/rpm", "/var/lib/rpm"}) {
    if (look_in(search, folder)) return;
  }
}

}  // namespace cudart_doctor
