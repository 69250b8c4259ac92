#include "cudart_doctor/collect/link_map.hpp"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/memory_reading.hpp"
#include "cudart_doctor/model/link_map_reasons.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxEntries = 4096;
constexpr std::size_t kMaxNamespaces = 64;
constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxProgramHeaders = 256;
constexpr std::uint64_t kMaxDynamic = 4096;

// struct r_debug and struct link_map of <link.h>, with addresses as numbers. musl's are the same.
struct RemoteDebug {
  std::int32_t version;
  std::int32_t padding;
  std::uint64_t map;
  std::uint64_t breakpoint;
  std::int32_t state;
  std::int32_t padding2;
  std::uint64_t loader_base;
};
struct RemoteLinkMap {
  std::uint64_t bias;
  std::uint64_t name;
  std::uint64_t dynamic;
  std::uint64_t next;
  std::uint64_t previous;
};
static_assert(sizeof(RemoteDebug) == 40 && sizeof(RemoteLinkMap) == 40);

struct ProgramHeaders {
  std::uint64_t dynamic = 0;  ///< Where PT_DYNAMIC lies in memory.
  bool has_interpreter = false;
};

/// Errors: unsupported (there is no PT_DYNAMIC), malformed.
Result<ProgramHeaders> read_headers(ByteSource& memory,
                                    const std::map<std::uint64_t, std::uint64_t>& auxv) {
  const auto headers = auxv.find(AT_PHDR);
  const auto count = auxv.find(AT_PHNUM);
  const auto size = auxv.find(AT_PHENT);
  if (headers == auxv.end() || count == auxv.end() || size == auxv.end()) {
    return fail(ErrorKind::malformed, "the auxiliary vector names no program headers");
  }
  if (size->second != sizeof(Elf64_Phdr) || count->second > kMaxProgramHeaders) {
    return fail(ErrorKind::malformed, "the auxiliary vector's program headers are implausible");
  }
  std::optional<std::uint64_t> bias;
  std::optional<std::uint64_t> dynamic;
  bool has_interpreter = false;
  for (std::uint64_t i = 0; i < count->second; ++i) {
    auto header = read_value<Elf64_Phdr>(memory, headers->second + i * sizeof(Elf64_Phdr));
    if (!header) return tl::unexpected(header.error());
    if (header->p_type == PT_PHDR) bias = headers->second - header->p_vaddr;
    // Without PT_PHDR: the headers lie right behind the ELF header in the first segment.
    if (header->p_type == PT_LOAD && header->p_offset == 0 && !bias) {
      bias = headers->second - sizeof(Elf64_Ehdr) - header->p_vaddr;
    }
    if (header->p_type == PT_INTERP) has_interpreter = true;
    if (header->p_type == PT_DYNAMIC) dynamic = header->p_vaddr;
  }
  if (!dynamic) return fail(ErrorKind::unsupported, "statically linked: there is no link map");
  if (!bias) return fail(ErrorKind::malformed, "the program's load address could not be found");
  return ProgramHeaders{*bias + *dynamic, has_interpreter};
}

Result<std::uint64_t> find_debug(ByteSource& memory, const ProgramHeaders& headers) {
  for (std::uint64_t i = 0; i < kMaxDynamic; ++i) {
    auto entry = read_value<Elf64_Dyn>(memory, headers.dynamic + i * sizeof(Elf64_Dyn));
    if (!entry) return tl::unexpected(entry.error());
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag != DT_DEBUG) continue;
    if (entry->d_un.d_ptr != 0) return entry->d_un.d_ptr;
    // Only ld.so fills it; a static PIE has the entry as well, and nobody who would.
    if (headers.has_interpreter) return fail(ErrorKind::io, std::string(kLoaderHasNotRun));
    return fail(ErrorKind::unsupported, "statically linked: DT_DEBUG is empty");
  }
  return fail(ErrorKind::unsupported, "the program has no DT_DEBUG entry");
}

LinkedNamespace follow(ByteSource& memory, std::uint64_t address) {
  LinkedNamespace result;
  std::set<std::uint64_t> seen;
  const auto stop = [&](std::string_view why) {
    result.note = "list broken after " + count_of(result.modules.size(), "entry", "entries") +
                  ": " + std::string(why);
  };
  while (address != 0) {
    if (!seen.insert(address).second) {
      stop("it is circular");
      break;
    }
    if (result.modules.size() >= kMaxEntries) {
      stop("longer than the limit");
      break;
    }
    auto entry = read_value<RemoteLinkMap>(memory, address);
    if (!entry) {
      stop(entry.error().message);
      break;
    }
    LinkedModule module{entry->bias, entry->dynamic, {}};
    if (entry->name != 0) {
      auto name = read_c_string(memory, entry->name, kMaxName);
      if (name) {
        module.name = std::move(*name);
      } else if (result.note.empty()) {
        result.note = "the name of entry " + std::to_string(result.modules.size()) +
                      " could not be read: " + name.error().message;
      }
    }
    result.modules.push_back(std::move(module));
    address = entry->next;
  }
  return result;
}

}  // namespace

Result<LinkMapLook> read_link_map(ByteSource& memory,
                                  const std::map<std::uint64_t, std::uint64_t>& auxv) {
  auto headers = read_headers(memory, auxv);
  if (!headers) return tl::unexpected(headers.error());
  auto address = find_debug(memory, *headers);
  if (!address) return tl::unexpected(address.error());

  LinkMapLook look;
  std::set<std::uint64_t> seen;
  std::uint64_t next = *address;
  while (next != 0 && seen.insert(next).second && look.namespaces.size() < kMaxNamespaces) {
    auto debug = read_value<RemoteDebug>(memory, next);
    if (!debug) {
      if (look.namespaces.empty()) return tl::unexpected(debug.error());
      look.namespaces.back().note += "further namespaces could not be read";
      break;
    }
    if (look.namespaces.empty()) look.version = debug->version;
    if (debug->version < 1) {
      if (look.namespaces.empty()) {
        return fail(ErrorKind::malformed, "the loader's r_debug has not been filled");
      }
      break;
    }
    look.namespaces.push_back(follow(memory, debug->map));
    // r_debug_extended of glibc 2.35 and later: r_next exists only from version 2 on.
    if (debug->version < 2) break;
    auto link = read_value<std::uint64_t>(memory, next + sizeof(RemoteDebug));
    next = link ? *link : 0;
  }
  return look;
}

AddressIndex::AddressIndex(const MapsTable& maps, const std::vector<LoadedObject>& objects) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  std::vector<std::uint32_t> object_of_row(maps.rows.size(), kNone);
  for (std::uint32_t i = 0; i < objects.size(); ++i) {
    for (const std::uint32_t row : objects[i].rows) object_of_row[row] = i;
  }
  ranges_.reserve(maps.rows.size());
  for (std::size_t row = 0; row < maps.rows.size(); ++row) {
    if (object_of_row[row] == kNone) continue;
    ranges_.push_back({maps.rows[row].lo, maps.rows[row].hi, object_of_row[row]});
  }
  // The kernel's order is ascending, unless mappings changed while it was read.
  const auto below = [](const Range& a, const Range& b) { return a.lo < b.lo; };
  if (!std::is_sorted(ranges_.begin(), ranges_.end(), below)) {
    std::sort(ranges_.begin(), ranges_.end(), below);
  }
}

std::optional<std::uint32_t> AddressIndex::find(std::uint64_t address) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const Range& range) { return value < range.lo; });
  if (after == ranges_.begin() || address >= std::prev(after)->hi) return std::nullopt;
  return std::prev(after)->object;
}

std::vector<LinkNamespace> match_objects(const LinkMapLook& look, const AddressIndex& index) {
  std::vector<LinkNamespace> result;
  for (std::uint32_t id = 0; id < look.namespaces.size(); ++id) {
    const LinkedNamespace& from = look.namespaces[id];
    // A namespace that was opened and closed again stays in the loader's table, empty.
    if (id > 0 && from.modules.empty() && from.note.empty()) continue;
    LinkNamespace& to = result.emplace_back();
    to.id = id;
    to.note = from.note;
    for (const auto& module : from.modules) {
      to.entries.push_back({module.load_bias, module.name, index.find(module.dynamic_address)});
    }
  }
  return result;
}

}  // namespace cudart_doctor
