#include "cudart_doctor/collect/read_maps.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMapsCap = 1u << 30;

/// First field of statm: total program size in pages.
std::string program_size(const ProcDirectory& process) {
  auto text = process.read_file("statm");
  return text ? text->substr(0, text->find(' ')) : std::string();
}

/// Else the thread that reads takes a page fault for every 4 KiB that the kernel writes.
void use_large_pages(std::string& text) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t room = text.capacity();
  void* begin = text.data();
  if (std::align(page, page, begin, room) != nullptr) ::madvise(begin, room, MADV_HUGEPAGE);
}

/// Parses on a second thread what has been read, as long as the text stays where it is.
class ParserAhead {
 public:
  explicit ParserAhead(MapsParser& parser) : parser_(parser) {}
  ParserAhead(const ParserAhead&) = delete;
  ParserAhead& operator=(const ParserAhead&) = delete;
  ~ParserAhead() { signal_end(); }

  /// Called with the text each time that it has grown.
  void see(std::string& text) {
    if (ended_ || text.size() < kLong) return;
    if (!running_.valid()) start(text);
    if (text.capacity() - text.size() < kReadPiece) {
      join();
    } else if (text.size() - offered_ >= kPortion) {
      offer(text.size());
    }
  }

  /// The thread has ended, and the parser is the caller's again.
  void join() {
    signal_end();
    if (running_.valid()) running_.get();
  }

 private:
  /// From here on the parser is worth a thread: some 5,000 mappings.
  static constexpr std::size_t kLong = 512u << 10;
  static constexpr std::size_t kPortion = 256u << 10;
  /// Room for about 400,000 mappings. What is not touched costs nothing.
  static constexpr std::size_t kRoom = 32u << 20;
  static constexpr std::size_t kEnd = SIZE_MAX;

  void start(std::string& text) {
    text.reserve(kRoom);
    use_large_pages(text);
    parser_.expect(kRoom);
    try {
      running_ = std::async(std::launch::async, [this, begin = text.data()] { run(begin); });
    } catch (const std::system_error&) {
      ended_ = true;  // The system gives no thread.
    }
  }

  void run(const char* begin) {
    for (std::size_t seen = 0;;) {
      ready_.wait(seen);
      seen = ready_.load();
      if (seen == kEnd) return;
      parser_.take({begin, seen});
    }
  }

  void offer(std::size_t size) {
    offered_ = size;
    ready_.store(size);
    ready_.notify_one();
  }

  void signal_end() {
    if (!ended_) offer(kEnd);
    ended_ = true;
  }

  MapsParser& parser_;
  std::atomic<std::size_t> ready_{0};  ///< Bytes that may be parsed; kEnd: no more.
  std::size_t offered_ = 0;
  bool ended_ = false;
  std::future<void> running_;  // The last member: it waits for its thread.
};

Result<MapsTable> read_table(const ProcDirectory& process, unsigned threads) {
  auto fd = process.open_file("maps");
  if (!fd) return tl::unexpected(fd.error());
  MapsParser parser;
  ParserAhead ahead(parser);
  const auto grown = [&](std::string& text) { ahead.see(text); };
  auto text = threads > 1 ? read_descriptor(fd->get(), process.shown("maps"), kMapsCap, grown)
                          : read_descriptor(fd->get(), process.shown("maps"), kMapsCap);
  ahead.join();
  if (!text) return tl::unexpected(text.error());
  return parser.finish(std::move(*text));
}

}  // namespace

Result<MapsLook> read_maps(const ProcDirectory& process, unsigned threads) {
  MapsLook look;
  std::string before = program_size(process);
  while (look.reads < kMaxMapsReads) {
    auto table = read_table(process, threads);
    ++look.reads;
    if (!table) return tl::unexpected(table.error());
    look.table = std::move(*table);
    std::string after = program_size(process);
    look.consistent = before == after && addresses_ascend(look.table);
    if (look.consistent) break;
    before = std::move(after);
  }
  return look;
}

std::vector<LoadedObject> group_objects(const MapsTable& maps) {
  // Objects are large: they are counted before they are made.
  std::map<FileKey, std::uint32_t> index;
  std::vector<std::uint32_t> object_of_row(maps.rows.size());
  std::optional<std::size_t> before;  // The last row of a file: most have several in a row.
  for (std::size_t i = 0; i < maps.rows.size(); ++i) {
    const Mapping& row = maps.rows[i];
    if (!row.file.is_file()) continue;
    if (before && maps.rows[*before].file == row.file) {
      object_of_row[i] = object_of_row[*before];
    } else {
      const auto number = static_cast<std::uint32_t>(index.size());
      object_of_row[i] = index.try_emplace(row.file, number).first->second;
    }
    before = i;
  }
  std::vector<LoadedObject> objects(index.size());
  for (std::size_t i = 0; i < maps.rows.size(); ++i) {
    const Mapping& row = maps.rows[i];
    if (!row.file.is_file()) continue;
    LoadedObject& object = objects[object_of_row[i]];
    if (object.rows.empty()) {
      object.key = row.file;
      object.lowest = row.lo;
    }
    object.lowest = std::min(object.lowest, row.lo);
    object.executable = object.executable || row.executable;
    object.rows.push_back(static_cast<std::uint32_t>(i));
    const std::string_view path = maps.path(row);
    if (!path.empty() &&
        std::find(object.paths.begin(), object.paths.end(), path) == object.paths.end()) {
      object.paths.emplace_back(path);
    }
  }
  const auto below = [](const LoadedObject& a, const LoadedObject& b) {
    return std::tie(a.lowest, a.key) < std::tie(b.lowest, b.key);
  };
  if (!std::is_sorted(objects.begin(), objects.end(), below)) {
    std::sort(objects.begin(), objects.end(), below);
  }
  return objects;
}

}  // namespace cudart_doctor
