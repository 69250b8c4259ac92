// The dynamic loader's own list of loaded objects, read from the target's memory: auxv leads to the
// program headers, PT_DYNAMIC to DT_DEBUG, that to r_debug and its link maps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// One link_map structure as read.
struct LinkedModule {
  std::uint64_t load_bias = 0;        ///< l_addr
  std::uint64_t dynamic_address = 0;  ///< l_ld
  std::string name;                   ///< l_name
};

struct LinkedNamespace {
  std::vector<LinkedModule> modules;  ///< In load order.
  std::string note;                   ///< What could not be followed.
};

struct LinkMapLook {
  std::vector<LinkedNamespace> namespaces;  ///< The base namespace first.
  std::int32_t version = 0;  ///< r_version; from 2 on the other namespaces can be followed.
};

/// `auxv` is the target's auxiliary vector, `memory` its memory. Caps: 4,096 entries a namespace,
/// 64 namespaces, names of 4 KiB; a broken or circular list ends with a note. Errors: unsupported
/// (statically linked), malformed, permission, gone.
Result<LinkMapLook> read_link_map(ByteSource& memory,
                                  const std::map<std::uint64_t, std::uint64_t>& auxv);

/// Which object is mapped at an address.
class AddressIndex {
 public:
  AddressIndex(const MapsTable& maps, const std::vector<LoadedObject>& objects);
  /// Index of the object; nothing for anonymous memory and holes.
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t address) const;

 private:
  struct Range {
    std::uint64_t lo = 0;
    std::uint64_t hi = 0;
    std::uint32_t object = 0;
  };
  std::vector<Range> ranges_;  ///< Ascending.
};

/// As the snapshot keeps it: every entry with the object in whose mappings its dynamic section
/// lies. Pure.
std::vector<LinkNamespace> match_objects(const LinkMapLook& look, const AddressIndex& index);

}  // namespace cudart_doctor
