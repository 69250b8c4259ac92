#include "cudart_doctor/analyze/tilelang_search.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kPrefix = "libcudart.so";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void add(std::vector<std::string>& directories, std::string directory) {
  if (!directory.starts_with('/')) return;
  if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
    directories.push_back(std::move(directory));
  }
}

void add_cuda_root(std::vector<std::string>& directories, const std::string& root) {
  if (root.empty()) return;
  add(directories, root);
  add(directories, root + "/lib64");
  add(directories, root + "/lib");
  add(directories, root + "/targets/x86_64-linux/lib");
  add(directories, root + "/targets/sbsa-linux/lib");
  add(directories, root + "/targets/aarch64-linux/lib");
}

/// The folders of <site>/nvidia that runtimes come in.
void add_site(std::vector<std::string>& directories, const std::string& site) {
  for (const char* package : {"cu13", "cu12", "cuda_runtime"}) {
    add(directories, site + "/nvidia/" + package + "/lib");
  }
}

std::string variable(const Snapshot& snapshot, std::string_view name) {
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(name);
  return value == nullptr ? std::string() : *value;
}

std::vector<std::string> directories_of(const Snapshot& snapshot, std::size_t shim) {
  std::vector<std::string> directories;
  const std::string& path = snapshot.objects[shim].path();
  add(directories, std::string(dir_name(path)));
  for (const std::string_view marker : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.find(marker);
    if (at != std::string::npos) add_site(directories, path.substr(0, at + marker.size() - 1));
  }
  if (const std::string* executable = snapshot.process.executable.get()) {
    add(directories, std::string(dir_name(*executable)));
  }
  // The Python folders of the executable's prefix, VIRTUAL_ENV and CONDA_PREFIX are the site
  // directories that capture found.
  for (const std::string& site : snapshot.python.site_directories) add_site(directories, site);
  add_cuda_root(directories, variable(snapshot, "CUDA_PATH"));
  add_cuda_root(directories, variable(snapshot, "CUDA_HOME"));
  const std::string search_list = variable(snapshot, "LD_LIBRARY_PATH");
  for (const std::string_view entry : split(search_list, ':')) {
    add(directories, std::string(entry));
  }
  add_cuda_root(directories, "/usr/local/cuda");
  for (const char* directory : {"/usr/local/lib64", "/usr/local/lib", "/usr/lib64", "/usr/lib",
                                "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"}) {
    add(directories, directory);
  }
  return directories;
}

/// Patterns with a wildcard in a folder's name: what capture found installed there.
bool is_under_pattern(const std::string& path) {
  return path.starts_with("/usr/local/cuda-") || path.find("/nvidia/") != std::string::npos;
}

}  // namespace

std::uint64_t tilelang_version_key(std::string_view path) {
  constexpr std::size_t kGroups = 4;
  std::string_view base = base_name(path);
  base.remove_prefix(std::min(base.size(), kPrefix.size()));
  std::uint64_t key = 0;
  std::size_t groups = 0;
  while (!base.empty() && groups < kGroups) {
    if (!is_digit(base.front())) {
      base.remove_prefix(1);
      continue;
    }
    std::uint64_t group = 0;
    while (!base.empty() && is_digit(base.front())) {
      group = group * 10 + static_cast<std::uint64_t>(base.front() - '0');
      base.remove_prefix(1);
    }
    key = key * 10000 + group;
    ++groups;
  }
  for (; groups < kGroups; ++groups) key *= 10000;
  return key;
}

bool tilelang_prefers(std::string_view a, std::string_view b) {
  const std::uint64_t left = tilelang_version_key(a);
  const std::uint64_t right = tilelang_version_key(b);
  return left != right ? left > right : a > b;
}

std::vector<std::string> tilelang_disk_files(const Snapshot& snapshot, std::size_t shim) {
  std::vector<std::string> files;
  const auto directories = directories_of(snapshot, shim);
  for (const std::string& directory : directories) {
    const auto listed = snapshot.disk.find(directory);
    if (listed == snapshot.disk.end()) continue;
    for (const std::string& name : listed->second.names) {
      if (name.starts_with(kPrefix)) files.push_back(directory + "/" + name);
    }
  }
  for (const InstalledFile& file : snapshot.installed) {
    if (!base_name(file.path).starts_with(kPrefix)) continue;
    const std::string directory(dir_name(file.path));
    const bool searched =
        std::find(directories.begin(), directories.end(), directory) != directories.end();
    if (searched || is_under_pattern(file.path)) files.push_back(file.path);
  }
  std::sort(files.begin(), files.end(), tilelang_prefers);
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

std::vector<DiskRequest> wanted_by_tilelang_search(const Snapshot& snapshot, std::size_t shim) {
  std::vector<DiskRequest> wanted;
  for (std::string& directory : directories_of(snapshot, shim)) {
    wanted.push_back({DiskRequest::Want::list, std::move(directory), std::string(kPrefix)});
  }
  return wanted;
}

}  // namespace cudart_doctor
