#include "elf_relocations.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

namespace cudart_doctor::elf {
namespace {

constexpr std::uint64_t kMaxRelocations = 1U << 22U;
constexpr std::size_t kMaxSlots = 4096;
/// 48 KiB at a time: the tables of large libraries have megabytes, and few entries matter.
constexpr std::uint64_t kEntriesAtOnce = 2048;

/// The three kinds that store an address of a symbol, as a machine numbers them.
struct Kinds {
  std::uint32_t jump_slot = 0;
  std::uint32_t global_data = 0;
  std::uint32_t absolute = 0;
};

std::optional<Kinds> kinds_of(std::uint16_t machine) {
  if (machine == kMachineAmd64) return Kinds{7, 6, 1};
  if (machine == kMachineAarch64) return Kinds{1026, 1025, 257};
  return std::nullopt;
}

struct Table {
  std::uint64_t address = 0;
  std::uint64_t entries = 0;
};

/// DT_RELA begins with the relative relocations where DT_RELACOUNT counts them.
Table data_table(const Dynamic& dynamic) {
  if (!dynamic.relocations) return {};
  const std::uint64_t entries = dynamic.relocations_size / kRelocationSize;
  const std::uint64_t skipped = std::min(entries, dynamic.relative_count);
  if (skipped > (UINT64_MAX - *dynamic.relocations) / kRelocationSize) return {};
  return {*dynamic.relocations + skipped * kRelocationSize, entries - skipped};
}

Table jump_table(const Dynamic& dynamic) {
  if (!dynamic.jump_relocations || !dynamic.jump_relocations_have_addends) return {};
  return {*dynamic.jump_relocations, dynamic.jump_relocations_size / kRelocationSize};
}

class SlotReader {
 public:
  SlotReader(ImageBytes& image, const std::vector<UndefinedName>& names, Kinds kinds)
      : image_(image), names_(names), kinds_(kinds) {}

  Result<void> read(const Table& table);
  std::vector<SlotPlace> take();

 private:
  void take_entry(std::span<const std::byte> raw);

  ImageBytes& image_;
  const std::vector<UndefinedName>& names_;
  Kinds kinds_;
  std::vector<SlotPlace> slots_;
};

void SlotReader::take_entry(std::span<const std::byte> raw) {
  const auto info = load<std::uint64_t>(raw, 8);
  const auto symbol = info >> 32U;
  const auto type = static_cast<std::uint32_t>(info);
  if (type != kinds_.jump_slot && type != kinds_.global_data && type != kinds_.absolute) return;
  // With an addend it is some place behind the symbol.
  if (type == kinds_.absolute && load<std::uint64_t>(raw, 16) != 0) return;
  const auto at = std::lower_bound(
      names_.begin(), names_.end(), symbol,
      [](const UndefinedName& name, std::uint64_t index) { return name.index < index; });
  if (at == names_.end() || at->index != symbol) return;
  slots_.push_back({load<std::uint64_t>(raw, 0), at->name, at->version});
}

Result<void> SlotReader::read(const Table& table) {
  if (table.entries == 0) return {};
  if (table.entries > kMaxRelocations) {
    return fail(ErrorKind::limit, "claims more than 4194304 relocations");
  }
  const auto extent = image_.locate(table.address);
  if (!extent || extent->available / kRelocationSize < table.entries ||
      extent->offset > UINT64_MAX - table.entries * kRelocationSize) {
    return fail(ErrorKind::malformed, "a table of relocations lies past the end");
  }
  std::vector<std::byte> room;
  for (std::uint64_t done = 0; done < table.entries;) {
    const std::uint64_t count = std::min(kEntriesAtOnce, table.entries - done);
    const auto raw =
        image_.bytes(extent->offset + done * kRelocationSize, count * kRelocationSize, room);
    if (raw.size() != count * kRelocationSize) {
      return fail(ErrorKind::malformed, "a table of relocations lies past the end");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      take_entry(raw.subspan(i * kRelocationSize, kRelocationSize));
    }
    if (slots_.size() > kMaxSlots) {
      return fail(ErrorKind::limit, "has more than 4096 slots for names of the runtime");
    }
    done += count;
  }
  return {};
}

/// Some linkers let DT_RELASZ cover the jump slots too: an address counts once.
std::vector<SlotPlace> SlotReader::take() {
  const auto at = [](const SlotPlace& slot) { return slot.vaddr; };
  std::ranges::sort(slots_, [](const SlotPlace& a, const SlotPlace& b) {
    return std::tie(a.vaddr, a.name, a.version) < std::tie(b.vaddr, b.name, b.version);
  });
  const auto rest = std::ranges::unique(slots_, {}, at);
  slots_.erase(rest.begin(), rest.end());
  return std::move(slots_);
}

}  // namespace

Result<std::vector<SlotPlace>> read_slots(ImageBytes& image, const Dynamic& dynamic,
                                          const std::vector<UndefinedName>& names) {
  if (names.empty()) return std::vector<SlotPlace>();
  const auto kinds = kinds_of(image.header().machine);
  if (!kinds) return fail(ErrorKind::unsupported, "relocations of another machine");
  SlotReader reader(image, names, *kinds);
  for (const Table& table : {jump_table(dynamic), data_table(dynamic)}) {
    if (auto read = reader.read(table); !read) return tl::unexpected(read.error());
  }
  return reader.take();
}

}  // namespace cudart_doctor::elf
