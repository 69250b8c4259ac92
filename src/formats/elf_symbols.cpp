#include "elf_symbols.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "constant_code.hpp"
#include "cudart_doctor/base/checked.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "elf_hash.hpp"

namespace cudart_doctor {
namespace {

bool starts_family(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix) && name[prefix.size()] >= 'A' &&
         name[prefix.size()] <= 'Z';
}

}  // namespace

bool is_cuda_runtime_name(std::string_view name) {
  return starts_family(name, "cuda") || name.starts_with("__cuda");
}

bool is_cuda_api_name(std::string_view name) {
  return is_cuda_runtime_name(name) || starts_family(name, "cu") || starts_family(name, "nvrtc") ||
         starts_family(name, "nvml") || starts_family(name, "hip");
}

namespace elf {
namespace {

constexpr std::uint64_t kMaxStrings = std::uint64_t{256} * 1024 * 1024;
constexpr std::size_t kVersymSize = 2;
/// Far beyond any library; without them a small file could name 4 GiB of exports.
constexpr std::size_t kMostApiNames = 64 * 1024;
constexpr std::size_t kLongestApiName = 256;

void count_function(std::string_view name, SymbolCensus& census) {
  if (is_cuda_runtime_name(name)) ++census.runtime;
  if (starts_family(name, "cu")) ++census.driver;
  if (starts_family(name, "nvrtc")) ++census.nvrtc;
  if (starts_family(name, "nvml")) ++census.nvml;
  if (starts_family(name, "hip")) ++census.hip;
}

/// The bytes of a table, as many as are there and no more than the object can hold.
std::vector<std::byte> read_table(ImageBytes& image, std::uint64_t address, std::uint64_t size) {
  const auto extent = image.locate(address);
  if (!extent) return {};
  std::uint64_t wanted = std::min(size, extent->available);
  if (const auto total = image.source_size()) {
    wanted = std::min(wanted, extent->offset < *total ? *total - extent->offset : 0);
  }
  std::vector<std::byte> bytes(wanted);
  bytes.resize(image.read(extent->offset, bytes));
  return bytes;
}

/// The tables of one walk.
struct Tables {
  std::vector<std::byte> symbols;
  std::vector<std::byte> strings;
  std::vector<std::byte> versions;

  [[nodiscard]] std::uint64_t count() const { return symbols.size() / kSymbolSize; }
  [[nodiscard]] Symbol symbol(std::uint64_t index) const {
    return load_symbol(std::span(symbols).subspan(index * kSymbolSize, kSymbolSize));
  }
  [[nodiscard]] std::uint16_t version(std::uint64_t index) const {
    if (!fits(index * kVersymSize, kVersymSize, versions.size())) return 0;
    return load<std::uint16_t>(versions, index * kVersymSize) & kVersymIndex;
  }
  /// The name, at most 4 KiB of it; nothing where it has no end in the table.
  [[nodiscard]] std::optional<std::string_view> name(std::uint32_t offset) const {
    if (offset >= strings.size()) return std::nullopt;
    const std::size_t limit = std::min(strings.size() - offset, kMaxString);
    const std::string_view rest = as_text(std::span(strings).subspan(offset, limit));
    const std::size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(0, end);
  }
};

Tables read_tables(ImageBytes& image, const Dynamic& dynamic, std::vector<std::string>& damage) {
  Tables tables;
  const std::uint64_t count = count_symbols(image, dynamic, damage);
  if (count == 0 || !dynamic.symbols || !dynamic.strings) return tables;
  tables.symbols = read_table(image, *dynamic.symbols, count * kSymbolSize);
  if (tables.count() < count) damage.emplace_back("symbol table lies past the end");
  if (dynamic.strings_size > kMaxStrings) {
    damage.emplace_back("string table claims more than 256 MiB; the rest was not read");
  }
  const std::uint64_t strings_size = std::min(dynamic.strings_size, kMaxStrings);
  tables.strings = read_table(image, *dynamic.strings, strings_size);
  if (tables.strings.size() < strings_size) damage.emplace_back("string table lies past the end");
  if (dynamic.versions) {
    tables.versions = read_table(image, *dynamic.versions, count * kVersymSize);
    if (tables.versions.size() < count * kVersymSize) {
      damage.emplace_back("symbol version table lies past the end");
    }
  }
  return tables;
}

std::optional<bool> constant_code_at(ImageBytes& image, std::uint64_t address) {
  std::array<std::byte, 64> code{};
  const auto extent = image.locate(address);
  if (!extent) return std::nullopt;
  const auto wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(code.size(), extent->available));
  const std::size_t size = image.read(extent->offset, std::span(code).first(wanted));
  if (size == 0) return std::nullopt;
  return returns_constant(std::span(code).first(size), image.header().machine);
}

std::string node_behind(const std::map<std::uint16_t, std::string>& nodes, std::uint16_t index) {
  const auto node = nodes.find(index);
  return node == nodes.end() ? std::string() : node->second;
}

}  // namespace

std::vector<UndefinedName> walk_symbols(ImageBytes& image, const Dynamic& dynamic,
                                        const VersionTables& versions, ElfFacts& facts) {
  std::vector<UndefinedName> undefined;
  std::set<std::string> nodes;
  const Tables tables = read_tables(image, dynamic, facts.damage);
  std::uint64_t lost_names = 0;
  for (std::uint64_t i = 1; i < tables.count(); ++i) {
    const Symbol symbol = tables.symbol(i);
    if (symbol.binding() == kStbLocal) continue;
    if (symbol.is_defined()) ++facts.defined_symbols;
    const auto name = tables.name(symbol.name);
    if (!name) {
      ++lost_names;
      continue;
    }
    if (!is_cuda_api_name(*name) || name->size() > kLongestApiName) continue;
    if (facts.exports.size() + facts.undefined.size() + undefined.size() >= kMostApiNames) {
      facts.damage.emplace_back("more than 65536 names of CUDA families; the rest was not read");
      break;
    }
    if (!symbol.is_defined()) {
      std::string node = node_behind(versions.needed_by_index, tables.version(i));
      if (is_cuda_runtime_name(*name)) undefined.push_back({i, std::string(*name), node});
      if (symbol.binding() == kStbWeak) continue;  // May stay undefined.
      facts.undefined.push_back({std::string(*name), std::move(node)});
      continue;
    }
    facts.exports.emplace_back(*name);
    if (is_cuda_runtime_name(*name)) {
      nodes.insert(node_behind(versions.defined_by_index, tables.version(i)));
    }
    if (symbol.is_function()) count_function(*name, facts.census);
    if (*name == "cuInit") facts.cu_init_is_constant = constant_code_at(image, symbol.value);
  }
  if (lost_names > 0) {
    facts.damage.emplace_back("names of symbols lie outside the string table");
  }
  std::sort(facts.exports.begin(), facts.exports.end());
  facts.exports.erase(std::unique(facts.exports.begin(), facts.exports.end()), facts.exports.end());
  if (!facts.exports.empty()) facts.exports_api = true;
  facts.runtime_nodes.assign(nodes.begin(), nodes.end());
  facts.symbols_walked = true;
  return undefined;
}

std::optional<std::string> function_at(ImageBytes& image, const Dynamic& dynamic,
                                       std::uint64_t vaddr) {
  std::vector<std::string> damage;  // What cannot be read holds no function.
  const Tables tables = read_tables(image, dynamic, damage);
  for (std::uint64_t i = 1; i < tables.count(); ++i) {
    const Symbol symbol = tables.symbol(i);
    if (!symbol.is_defined() || !symbol.is_function()) continue;
    if (vaddr < symbol.value || vaddr - symbol.value >= symbol.size) continue;
    if (const auto name = tables.name(symbol.name)) return std::string(*name);
  }
  return std::nullopt;
}

}  // namespace elf
}  // namespace cudart_doctor
