#include "cudart_doctor/collect/installed.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxInstalled = 2000;
constexpr std::size_t kMaxPackages = 5000;

class Finder {
 public:
  Finder(const CaptureContext& context, Snapshot& snapshot, DiskReader& disk)
      : context_(context), snapshot_(snapshot), disk_(disk) {}

  void search_site(const std::string& site);
  void search_toolkit(const std::string& root, const std::string& found_by);
  void search_directory(const std::string& directory, const std::string& found_by);
  void add(const std::string& path, const std::string& found_by);

 private:
  /// Says once that a cap ended a search.
  void note_cap(const std::string& what) {
    const std::string note = "not looked at: " + what;
    auto& notes = snapshot_.capture.notes;
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }

  const CaptureContext& context_;
  Snapshot& snapshot_;
  DiskReader& disk_;
  std::set<std::string> directories_;
  std::set<FileKey> searched_;  ///< lib64 is a link to lib, /usr/local/cuda one to cuda-13.0.
  std::set<FileKey> files_;
};

void Finder::add(const std::string& path, const std::string& found_by) {
  if (snapshot_.installed.size() >= kMaxInstalled) {
    note_cap("installed CUDA libraries beyond " + std::to_string(kMaxInstalled));
    return;
  }
  if (context_.is_skipped(path)) {
    disk_.read({DiskRequest::Want::stat, path, {}});
    snapshot_.installed.push_back({path, found_by});
    return;
  }
  context_.progress("look at installed library", path);
  const auto info = context_.files.stat(path);
  if (!info || !info->is_regular()) return;
  if (!files_.insert(info->key).second || disk_.mapped(info->key) != nullptr) return;
  const auto found = context_.files.find(path);
  if (!found) return;
  auto real = context_.files.real_path(*found);
  const std::string name = real ? *real : path;
  disk_.read({DiskRequest::Want::elf, name, {}});
  snapshot_.installed.push_back({name, found_by});
}

void Finder::search_directory(const std::string& directory, const std::string& found_by) {
  if (!directories_.insert(directory).second) return;
  if (!context_.is_skipped(directory)) {
    context_.progress("list directory", directory);
    const auto info = context_.files.stat(directory);
    if (info ? !searched_.insert(info->key).second : info.error().kind == ErrorKind::not_found) {
      return;
    }
  }
  auto names = disk_.list(directory, ".so");
  if (!names) {
    if (names.error().kind != ErrorKind::not_found &&
        names.error().kind != ErrorKind::unsupported) {
      snapshot_.capture.notes.push_back("not searched for CUDA libraries: " +
                                        escape_foreign(directory) + ": " + names.error().message);
    }
    return;
  }
  for (const auto& name : *names) {
    const std::string path = directory + "/" + name;
    if (context_.rules.is_cuda_name && context_.rules.is_cuda_name(path)) add(path, found_by);
  }
}

void Finder::search_site(const std::string& site) {
  const std::string found_by = "python environment";
  if (auto names = disk_.list(site + "/nvidia", "")) {
    for (const auto& name : *names) search_directory(site + "/nvidia/" + name + "/lib", found_by);
  }
  auto names = disk_.list(site, "");
  if (!names) return;
  std::size_t packages = 0;
  for (const auto& name : *names) {
    if (name.ends_with(".libs")) {
      search_directory(site + "/" + name, found_by);
      continue;
    }
    // Packages are identifiers: anything with a dot is metadata or a module.
    if (name.find('.') != std::string::npos || name == "__pycache__" || name == "nvidia") continue;
    if (++packages > kMaxPackages) {
      note_cap("packages beyond " + std::to_string(kMaxPackages) + " in " + escape_foreign(site));
      break;
    }
    search_directory(site + "/" + name + "/lib", found_by);
  }
}

void Finder::search_toolkit(const std::string& root, const std::string& found_by) {
  for (const char* part : {"/lib64", "/lib", "/compat", "/lib64/stubs"}) {
    search_directory(root + part, found_by);
  }
  if (auto names = disk_.list(root + "/targets", "")) {
    for (const auto& name : *names) search_directory(root + "/targets/" + name + "/lib", found_by);
  }
}

}  // namespace

void find_installed(const CaptureContext& context, Snapshot& snapshot, DiskReader& disk) {
  Finder finder(context, snapshot, disk);
  for (const auto& site : snapshot.python.site_directories) finder.search_site(site);
  if (const Environment* environment = snapshot.environment.get()) {
    for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
      const std::string* root = environment->find(name);
      if (root != nullptr && root->starts_with('/')) finder.search_toolkit(*root, name);
    }
    const std::string* conda = environment->find("CONDA_PREFIX");
    if (conda != nullptr && conda->starts_with('/')) {
      finder.search_directory(*conda + "/lib", "CONDA_PREFIX");
    }
  }
  if (auto names = disk.list("/usr/local", "cuda")) {
    for (const auto& name : *names) {
      if (name.starts_with("cuda")) finder.search_toolkit("/usr/local/" + name, "/usr/local/cuda*");
    }
  }
  if (const auto* cache = snapshot.loader.cache.get()) {
    for (const auto& entry : *cache) finder.add(entry.path, "ld.so.cache");
  }
}

}  // namespace cudart_doctor
