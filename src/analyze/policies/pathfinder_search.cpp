#include "analyze/policies/pathfinder_search.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kBare = "libcudart.so";
constexpr std::array<std::string_view, 2> kLibraryFolders = {"lib64", "lib"};

/// site.getsitepackages() and the user's: entries of PYTHONPATH are not among them.
std::vector<std::string> site_packages(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const std::string& site : snapshot.python.site_directories) {
    if (base_name(site) == "site-packages" || base_name(site) == "dist-packages") {
      out.push_back(site);
    }
  }
  return out;
}

std::vector<std::string> site_folders(const Snapshot& snapshot, const PathfinderVintage& vintage) {
  std::vector<std::string> out;
  const std::vector<std::string> sites = site_packages(snapshot);
  for (const std::string_view folder : vintage.folders) {
    for (const std::string& site : sites) out.push_back(site + "/" + std::string(folder));
  }
  return out;
}

const std::string* variable(const Snapshot& snapshot, std::string_view name) {
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(name);
  return value == nullptr || value->empty() ? nullptr : value;
}

std::vector<std::string> below(const std::string& root) {
  std::vector<std::string> out;
  for (const std::string_view folder : kLibraryFolders) {
    out.push_back(root + "/" + std::string(folder));
  }
  return out;
}

/// The toolkit's root and the variable that names it.
struct Root {
  std::string_view name;
  const std::string* value = nullptr;
};

Root toolkit_root(const Snapshot& snapshot, const PathfinderVintage& vintage) {
  for (const std::string_view name : vintage.roots) {
    if (const std::string* value = variable(snapshot, name)) return {name, value};
  }
  return {};
}

/// The names in a folder that could be taken, in the order in which they are tried.
std::vector<std::string> names_to_try(const Snapshot& snapshot, const std::string& folder,
                                      const PathfinderVintage& vintage) {
  if (vintage.choice == FileChoice::sonames) {
    return {vintage.system_names.begin(), vintage.system_names.end()};
  }
  std::vector<std::string> names = {std::string(kBare)};
  const auto listed = snapshot.disk.find(folder);
  if (listed == snapshot.disk.end()) return names;
  std::vector<std::string> found;
  for (const std::string& name : listed->second.names) {
    if (name.starts_with(kBare) && name != kBare) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  if (vintage.choice == FileChoice::newest) std::reverse(found.begin(), found.end());
  names.insert(names.end(), found.begin(), found.end());
  return names;
}

class Folders {
 public:
  Folders(const Snapshot& snapshot, const PathfinderVintage& vintage, StepLog& log)
      : snapshot_(snapshot), vintage_(vintage), log_(log) {}

  /// True when a file was found.
  bool look_into(const std::string& folder, std::string_view source) {
    if (vintage_.choice != FileChoice::sonames && !is_listed(folder)) {
      log_.add(folder, StepVerdict::noted, std::string(source) + ": could not be listed");
      hit_.doubts.push_back(folder);
      return false;
    }
    for (const std::string& name : names_to_try(snapshot_, folder, vintage_)) {
      const std::string path = folder + "/" + name;
      const FileNow now = file_now(snapshot_, path);
      if (now.state == FileNow::State::file) {
        log_.add(path, StepVerdict::noted, std::string(source) + ": found");
        hit_.path = path;
        return true;
      }
      if (now.state != FileNow::State::unknown) continue;
      log_.add(path, StepVerdict::noted,
               std::string(source) + ": not known: " + escape_foreign(now.note));
      hit_.doubts.push_back(path);
    }
    log_.add(folder, StepVerdict::rejected, std::string(source) + ": no such file");
    return false;
  }

  PathfinderHit take() { return std::move(hit_); }
  void doubt(std::string what) { hit_.doubts.push_back(std::move(what)); }

 private:
  [[nodiscard]] bool is_listed(const std::string& folder) const {
    const auto found = snapshot_.disk.find(folder);
    if (found == snapshot_.disk.end()) return snapshot_.origin == SnapshotOrigin::fixture;
    return found->second.kind != DiskKind::unreadable;
  }

  const Snapshot& snapshot_;
  const PathfinderVintage& vintage_;
  StepLog& log_;
  PathfinderHit hit_;
};

}  // namespace

PathfinderHit find_early(const Snapshot& snapshot, const PathfinderVintage& vintage, StepLog& log) {
  Folders folders(snapshot, vintage, log);
  for (const std::string& folder : site_folders(snapshot, vintage)) {
    if (folders.look_into(folder, "site-packages")) return folders.take();
  }
  if (!vintage.uses_conda) return folders.take();
  if (snapshot.environment.get() == nullptr) {
    log.add("CONDA_PREFIX", StepVerdict::noted, "the environment is not known");
    folders.doubt("a file below CONDA_PREFIX, which could not be read");
  } else if (const std::string* prefix = variable(snapshot, "CONDA_PREFIX")) {
    for (const std::string& folder : below(*prefix)) {
      if (folders.look_into(folder, "CONDA_PREFIX")) break;
    }
  }
  return folders.take();
}

PathfinderHit find_late(const Snapshot& snapshot, const PathfinderVintage& vintage, StepLog& log) {
  Folders folders(snapshot, vintage, log);
  if (snapshot.environment.get() == nullptr) {
    log.add("CUDA_PATH", StepVerdict::noted, "the environment is not known");
    folders.doubt("a file below CUDA_PATH or CUDA_HOME, which could not be read");
    return folders.take();
  }
  const Root root = toolkit_root(snapshot, vintage);
  if (root.value == nullptr) {
    log.add("CUDA_PATH", StepVerdict::rejected, "neither CUDA_PATH nor CUDA_HOME is set");
    return folders.take();
  }
  for (const std::string& folder : below(*root.value)) {
    if (folders.look_into(folder, root.name)) break;
  }
  return folders.take();
}

std::vector<DiskRequest> wanted_by_pathfinder(const Snapshot& snapshot,
                                              const PathfinderVintage& vintage) {
  std::vector<std::string> folders = site_folders(snapshot, vintage);
  const auto add = [&](const std::string* root) {
    if (root == nullptr) return;
    for (std::string& folder : below(*root)) folders.push_back(std::move(folder));
  };
  if (vintage.uses_conda) add(variable(snapshot, "CONDA_PREFIX"));
  add(toolkit_root(snapshot, vintage).value);
  std::vector<DiskRequest> wanted;
  for (const std::string& folder : folders) {
    if (vintage.choice != FileChoice::sonames) {
      wanted.push_back({DiskRequest::Want::list, folder, std::string(kBare)});
    }
    for (const std::string& name : names_to_try(snapshot, folder, vintage)) {
      wanted.push_back({DiskRequest::Want::elf, folder + "/" + name, {}});
    }
  }
  return wanted;
}

}  // namespace cudart_doctor
