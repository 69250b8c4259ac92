// One pass over an object's loaded bytes in blocks with an overlap, so that each byte is read once
// and a text or an instruction across a border is still seen, and counted once.
#include "cudart_doctor/formats/content_scan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "cudart_doctor/base/checked.hpp"
#include "cudart_doctor/base/text.hpp"
#include "elf_format.hpp"
#include "text_search.hpp"
#include "version_code.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kBlock = 64 * 1024;
constexpr std::size_t kOverlap = 256;  ///< Longer than any text with the version behind it.
constexpr std::size_t kMaxVersionText = 32;

/// Texts that are searched for beside yardstick and markers.
/// libcuda names the profile file of its own version; the driver's GL libraries do the same.
constexpr std::string_view kDriverVersion = "/nvidia-application-profiles-";
constexpr std::string_view kDriverVersionEnd = "-rc";
/// The compiler's banner is in every library with compiled kernels; only NVRTC also has the names
/// of its own errors.
constexpr std::string_view kCompilerBanner = "Cuda compilation tools, release ";
constexpr std::string_view kCompilerVersion = ", V";
constexpr std::string_view kNvrtcError = "NVRTC_ERROR_OUT_OF_MEMORY";
constexpr std::array kHelpers = {kDriverVersion, kCompilerBanner, kNvrtcError};

constexpr std::size_t kFirstMarker = kYardstickTexts.size();
constexpr std::size_t kFirstHelper = kFirstMarker + kMarkerTexts.size();
constexpr std::size_t kNvrtcErrorAt = kFirstHelper + 2;

constexpr auto make_texts() {
  std::array<std::string_view, kFirstHelper + kHelpers.size()> texts{};
  std::copy(kYardstickTexts.begin(), kYardstickTexts.end(), texts.begin());
  std::copy(kMarkerTexts.begin(), kMarkerTexts.end(), texts.begin() + kFirstMarker);
  std::copy(kHelpers.begin(), kHelpers.end(), texts.begin() + kFirstHelper);
  return texts;
}
constexpr auto kTexts = make_texts();
static_assert(kTexts[kNvrtcErrorAt] == kNvrtcError);
static_assert(std::all_of(kTexts.begin(), kTexts.end(), [](std::string_view text) {
  return text.size() >= TextSearch::kShortest && text.size() + kMaxVersionText * 2 < kOverlap;
}));

/// `ranges` in order, without overlaps.
std::vector<FileRange> merge(std::vector<FileRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  std::vector<FileRange> merged;
  for (const FileRange& range : ranges) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

/// File ranges of the PT_LOAD segments with all of `flags`, disjoint and ascending: segments may
/// overlap, and a liar can let 256 of them cover the whole file.
std::vector<FileRange> loaded_ranges(const std::vector<ProgramHeader>& headers,
                                     std::uint32_t flags) {
  std::vector<FileRange> ranges;
  for (const ProgramHeader& header : headers) {
    if (header.type != elf::kPtLoad || (header.flags & flags) != flags) continue;
    if (header.filesz > 0) {
      ranges.push_back({header.offset, saturating_add(header.offset, header.filesz)});
    }
  }
  return merge(std::move(ranges));
}

/// The parts of `ranges` that lie in `only`.
std::vector<FileRange> limited(const std::vector<FileRange>& ranges,
                               const std::vector<FileRange>& only) {
  std::vector<FileRange> parts;
  for (const FileRange& wanted : merge(only)) {
    for (const FileRange& range : ranges) {
      const FileRange part{std::max(range.begin, wanted.begin), std::min(range.end, wanted.end)};
      if (part.begin < part.end) parts.push_back(part);
    }
  }
  return parts;
}

/// "535.261.03" at the beginning of `text`.
std::string_view leading_version(std::string_view text) {
  const std::size_t size = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view version = text.substr(0, size);
  if (size == 0 || size > kMaxVersionText || version.find('.') == std::string_view::npos) return {};
  return version.front() == '.' || version.back() == '.' ? std::string_view() : version;
}

/// Bytes that are searched at once.
struct Block {
  std::span<const std::byte> bytes;
  std::size_t starts = 0;    ///< Hits count when they begin below; the rest comes again.
  std::uint64_t offset = 0;  ///< In the file.
};

/// Versions that were found; whether there is more than one is all that matters then.
using Versions = std::set<std::string, std::less<>>;

void keep(Versions& versions, std::string_view version) {
  constexpr std::size_t kEnough = 2;
  if (versions.size() < kEnough) versions.emplace(version);
}

class Scanner {
 public:
  Scanner(const std::vector<ProgramHeader>& headers, std::uint16_t machine)
      : code_(loaded_ranges(headers, elf::kPfExecute)), machine_(machine), search_(kTexts) {}

  void take_texts(const Block& block) {
    for (const TextSearch::Hit& hit : search_.find(block.bytes)) {
      if (hit.at < block.starts) take_text(hit, elf::as_text(block.bytes));
    }
  }
  void take_code(const Block& block) {
    for (const FileRange& range : code_) take_code_of(block, range);
  }

  /// File ranges of what may be executed.
  [[nodiscard]] const std::vector<FileRange>& code() const { return code_; }
  [[nodiscard]] std::size_t yardstick_texts() const {
    return static_cast<std::size_t>(
        std::count(found_.begin(), found_.begin() + kFirstMarker, true));
  }
  ContentScan finish(std::uint64_t bytes) const;

 private:
  void take_text(const TextSearch::Hit& hit, std::string_view block);
  void take_code_of(const Block& block, const FileRange& range);

  std::vector<FileRange> code_;
  std::uint16_t machine_;
  TextSearch search_;
  std::array<bool, kTexts.size()> found_{};
  std::map<std::uint32_t, std::uint32_t> constants_;
  Versions driver_versions_;
  Versions compiler_versions_;
};

void Scanner::take_text(const TextSearch::Hit& hit, std::string_view block) {
  const std::string_view rest = block.substr(hit.at + kTexts[hit.text].size());
  if (hit.text < kFirstMarker) {
    // A whole C string: "libcuda.so.1" is no "libcuda.so.10".
    if (rest.empty() || rest.front() != '\0') return;
  } else if (kTexts[hit.text] == kDriverVersion) {
    const std::string_view version = leading_version(rest);
    if (version.empty() || !rest.substr(version.size()).starts_with(kDriverVersionEnd)) return;
    keep(driver_versions_, version);
  } else if (kTexts[hit.text] == kCompilerBanner) {
    std::string_view tail = rest.substr(leading_version(rest).size());
    if (!tail.starts_with(kCompilerVersion)) return;
    tail.remove_prefix(kCompilerVersion.size());
    const std::string_view version = leading_version(tail);
    if (!version.empty()) keep(compiler_versions_, version);
  }
  found_[hit.text] = true;
}

void Scanner::take_code_of(const Block& block, const FileRange& range) {
  const std::uint64_t end = block.offset + block.bytes.size();
  const std::uint64_t from = std::max(range.begin, block.offset);
  const std::uint64_t to = std::min(range.end, end);
  const std::uint64_t starts_to = std::min(to, block.offset + block.starts);
  if (from >= starts_to) return;
  const CodeRange code{block.bytes.subspan(from - block.offset, to - from), starts_to - from, from};
  for (const std::uint32_t value : find_version_code(code, machine_)) ++constants_[value];
}

ContentScan Scanner::finish(std::uint64_t bytes) const {
  ContentScan scan;
  scan.bytes = bytes;
  for (std::size_t i = 0; i < kFirstHelper; ++i) {
    if (!found_[i]) continue;
    (i < kFirstMarker ? scan.yardstick : scan.markers).emplace_back(kTexts[i]);
  }
  for (const auto& [value, count] : constants_) scan.constants.push_back({value, count});
  const bool is_nvrtc = found_[kNvrtcErrorAt];
  // Two different versions say nothing: the object embeds other people's code.
  if (driver_versions_.size() == 1) {
    scan.text_version = *driver_versions_.begin();
  } else if (driver_versions_.empty() && is_nvrtc && compiler_versions_.size() == 1) {
    scan.text_version = *compiler_versions_.begin();
  }
  return scan;
}

/// Fills `out` as far as the source has bytes.
Result<std::size_t> read_full(ByteSource& source, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto count = source.read_at(offset + done, out.subspan(done));
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) break;
    done += *count;
  }
  return done;
}

/// Gives one range to `take`, block by block; returns how many bytes were there.
template <typename Take>
Result<std::uint64_t> scan_range(ByteSource& source, const FileRange& range, const Take& take,
                                 std::span<std::byte> buffer) {
  std::uint64_t at = range.begin;
  std::size_t kept = 0;  // Bytes of the last block that are looked at again, at the buffer's start.
  while (true) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, range.end - at));
    const auto count = read_full(source, at, buffer.subspan(kept, wanted));
    if (!count) return tl::unexpected(count.error());
    const bool is_last = *count < wanted || at + *count >= range.end;
    const std::size_t size = kept + *count;
    const std::size_t again = is_last ? 0 : std::min(kOverlap, size);
    take(Block{buffer.first(size), size - again, at - kept});
    at += *count;
    if (is_last) return at - range.begin;
    std::copy_n(buffer.begin() + static_cast<std::ptrdiff_t>(size - again), again, buffer.begin());
    kept = again;
  }
}

}  // namespace

Result<ContentScan> scan_contents(ByteSource& source, const std::vector<ProgramHeader>& headers,
                                  std::uint16_t machine, const ContentParts& parts) {
  Scanner scanner(headers, machine);
  constexpr std::size_t kBuffer = kOverlap + kBlock;
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kBuffer);
  std::uint64_t bytes = 0;
  const auto scan = [&](const std::vector<FileRange>& ranges, const auto& take) -> Result<void> {
    for (const FileRange& range : ranges) {
      const auto count = scan_range(source, range, take, {buffer.get(), kBuffer});
      if (!count) return tl::unexpected(count.error());
      bytes += *count;
    }
    return {};
  };
  const auto texts = [&](const Block& block) { scanner.take_texts(block); };
  const auto code = [&](const Block& block) { scanner.take_code(block); };
  const auto both = [&](const Block& block) { texts(block), code(block); };
  const std::vector<FileRange> loaded = loaded_ranges(headers, 0);
  if (parts.constants.empty()) {
    if (auto done = scan(loaded, both); !done) return tl::unexpected(done.error());
    return scanner.finish(bytes);
  }
  // Most libraries hold no runtime, and their code is larger than their constants.
  if (auto done = scan(limited(loaded, parts.constants), texts); !done) {
    return tl::unexpected(done.error());
  }
  if (scanner.yardstick_texts() >= kFewestYardstickTexts) {
    const auto done = scan(limited(scanner.code(), parts.code), code);
    if (!done) return tl::unexpected(done.error());
  }
  return scanner.finish(bytes);
}

}  // namespace cudart_doctor
