// Questions about the snapshot's objects that several rules ask: which object is at a path, which
// are loaded and where, which names a handle on one of them gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// The base namespace's link map; nullptr when it could not be read, or not to its end.
const LinkNamespace* base_link_map(const Snapshot& snapshot);

/// The object of a link map entry: where its l_ld lies, else the one that has its name as path.
std::optional<std::size_t> object_of_entry(const Snapshot& snapshot, const LinkEntry& entry);

/// Whether the loader's base namespace has `object`. Without a link map every mapping that can be
/// executed counts.
bool is_loaded_in_base(const Snapshot& snapshot, std::size_t object);

/// Loaded objects of the base namespace: in load order with a link map, else by address.
std::vector<std::size_t> loaded_objects(const Snapshot& snapshot);

/// The object that has `path` among its paths (deleted mark cut); loaded ones first.
std::optional<std::size_t> find_object_at(const Snapshot& snapshot, std::string_view path);

/// The loaded object with this device and inode.
std::optional<std::size_t> find_loaded_file(const Snapshot& snapshot, const FileKey& key);

/// A loaded object, of any loader namespace, that has `name` as soname, as file name, or as the
/// last part of the name under which the loader knows it.
std::optional<std::size_t> find_loaded_as(const Snapshot& snapshot, std::string_view name);

/// The main program: the first link map entry, else the object of the executable's path.
std::optional<std::size_t> main_program(const Snapshot& snapshot);

/// DT_SONAME; nullptr when there is none or the object could not be read.
const std::string* soname_of(const Snapshot& snapshot, std::size_t object);

/// The l_name of an object where the link map has one, else its path: what dlerror prints.
std::string loader_name(const Snapshot& snapshot, std::size_t object);
/// loader_name() of every object, by index; views into the snapshot.
std::vector<std::string_view> loader_names(const Snapshot& snapshot);

/// Names of a list that dlsym on a handle would not give.
struct MissingNames {
  std::vector<std::string> names;  ///< In the order asked.
  bool known = false;              ///< The symbols could be read.
};

/// dlsym on a handle looks at the object and then, breadth first, at its DT_NEEDED objects.
MissingNames missing_in_object(const Snapshot& snapshot, std::size_t object,
                               std::span<const std::string_view> names);
/// The same for a file that is not loaded; only the file's own symbols are known.
MissingNames missing_in_file(const Snapshot& snapshot, const std::string& path,
                             std::span<const std::string_view> names);

}  // namespace cudart_doctor
