// Wheels: the RECORD of each distribution lists its files relative to the site directory. Few of
// them are read: those whose names speak for the file first, the others only where none lists it.
#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/python_names.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

struct Distribution {
  std::string directory;
  std::string name;
  std::string version;
  int rank = 0;
};

/// Site directories and the queries that they may have brought.
using Sites = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

bool lies_in(std::string_view path, std::string_view directory) {
  return path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

/// PREFIX/lib of PREFIX/lib/python3.12/site-packages: wheels may put libraries there as data.
bool is_beside(std::string_view path, std::string_view site) {
  const std::string_view directory = dir_name(path);
  const std::string_view library = dir_name(dir_name(site));
  return base_name(library).starts_with("lib") && base_name(directory).starts_with("lib") &&
         dir_name(directory) == dir_name(library);
}

void add(Sites& sites, const std::string& site, std::size_t query) {
  auto place = std::find_if(sites.begin(), sites.end(),
                            [&](const auto& entry) { return entry.first == site; });
  if (place == sites.end()) place = sites.insert(sites.end(), {site, {}});
  if (place->second.empty() || place->second.back() != query) place->second.push_back(query);
}

Sites sites_of(const OwnerSearch& search) {
  Sites sites;
  for (const std::size_t index : search.open_queries()) {
    for (const std::string& name : search.query(index).names) {
      for (const std::string& site : search.python().site_directories) {
        if (lies_in(name, site) || is_beside(name, site)) add(sites, site, index);
      }
      if (const auto site = site_directory_of(name)) add(sites, *site, index);
    }
  }
  return sites;
}

/// "cuda-runtime" of "nvidia/cuda_runtime/lib/x.so", "tilelang" of "tilelang/lib/x.so".
std::string folder_of(std::string_view path, std::string_view site) {
  if (!lies_in(path, site)) return {};
  const auto parts = split(path.substr(site.size() + 1), '/');
  std::string folder(parts.front() == "nvidia" && parts.size() > 2 ? parts[1] : parts.front());
  if (folder.ends_with(".libs")) folder.resize(folder.size() - 5);
  std::replace(folder.begin(), folder.end(), '_', '-');
  return folder;
}

constexpr int kUnlikely = 2;

int rank_of(std::string_view distribution, const std::vector<std::string>& folders) {
  constexpr std::array<std::string_view, 9> kLikely = {
      "nvidia-", "torch", "tilelang", "vllm", "sgl", "flashinfer", "cuda", "cupy", "triton"};
  const auto contains = [&](const std::string& folder) {
    return distribution.find(folder) != std::string_view::npos;
  };
  if (std::any_of(folders.begin(), folders.end(), contains)) return 0;
  const auto begins = [&](std::string_view name) { return distribution.starts_with(name); };
  return std::any_of(kLikely.begin(), kLikely.end(), begins) ? 1 : kUnlikely;
}

class Site {
 public:
  Site(OwnerSearch& search, std::string path, std::vector<std::size_t> queries)
      : search_(search), path_(std::move(path)), queries_(std::move(queries)) {}

  void look() {
    if (!has_open()) return;
    const auto names = search_.list(path_, "");
    if (!names) {
      if (names.error().kind != ErrorKind::not_found) {
        leave_open(trouble_at(path_, names.error().message));
      }
      return;
    }
    sort_out(*names);
    for (const Distribution& distribution : distributions_) {
      if (!has_open()) {
        if (is_repeated(distribution)) read_record(distribution);
        continue;
      }
      if (distribution.rank == kUnlikely && !search_.wants_all(queries_)) {
        return leave_open(std::string(kOnlyLikely));
      }
      read_record(distribution);
    }
    if (!without_record_.empty()) {
      leave_open("it may be of " + escape_foreign(without_record_) +
                 ", which keeps no list of its files");
    }
  }

 private:
  /// An upgrade that was cut off leaves the metadata of two versions.
  [[nodiscard]] bool is_repeated(const Distribution& distribution) const {
    const auto same = [&](const Distribution& each) { return each.name == distribution.name; };
    return std::count_if(distributions_.begin(), distributions_.end(), same) > 1;
  }

  [[nodiscard]] bool has_open() const {
    return std::any_of(queries_.begin(), queries_.end(),
                       [&](std::size_t index) { return !search_.query(index).owner; });
  }

  void leave_open(const std::string& why) {
    for (const std::size_t index : queries_) {
      if (!search_.query(index).owner) search_.leave_open(index, why);
    }
  }

  void sort_out(const std::vector<std::string>& names) {
    std::vector<std::string> folders;
    for (const std::size_t index : queries_) {
      for (const std::string& name : search_.query(index).names) {
        std::string folder = folder_of(name, path_);
        if (!folder.empty()) folders.push_back(std::move(folder));
      }
    }
    for (const std::string& name : names) {
      // setuptools' old ways of installing, and links to a checkout.
      const bool legacy = name.ends_with(".egg-info") || name.ends_with(".egg-link") ||
                          name.ends_with(".egg") || name == "easy-install.pth";
      if (legacy && without_record_.empty()) without_record_ = name;
      if (!name.ends_with(".dist-info")) continue;
      auto parsed = parse_metadata_name(name);
      if (!parsed) continue;
      const int rank = rank_of(parsed->first, folders);
      distributions_.push_back({path_ + "/" + name, parsed->first, parsed->second, rank});
    }
    std::stable_sort(distributions_.begin(), distributions_.end(),
                     [](const auto& a, const auto& b) { return a.rank < b.rank; });
  }

  void read_record(const Distribution& distribution) {
    const auto text = search_.read(distribution.directory + "/RECORD");
    if (!text) {
      if (text.error().kind != ErrorKind::not_found) return leave_open(text.error().message);
      if (without_record_.empty()) without_record_ = base_name(distribution.directory);
      return;
    }
    if (!search_.may_list(*text)) return;
    auto listed =
        parse_wheel_record(*text, is_repeated(distribution) ? search_.keep_asked_below(path_)
                                                            : search_.keep_below(path_));
    if (listed.empty()) return;
    for (std::string& name : listed) name = absolute_name(path_, name);
    const FileOwner owner{PackageKind::wheel, distribution.name, distribution.version};
    if (search_.doubt(listed, owner)) return;
    // What conda and distributions install is theirs, though it carries a RECORD.
    const auto installer = search_.read(distribution.directory + "/INSTALLER");
    const std::string_view by = installer ? trim(*installer) : std::string_view();
    if (by == "conda" || by == "debian" || by == "rpm") {
      search_.hold(listed, owner);
    } else {
      search_.claim(listed, owner);
    }
  }

  OwnerSearch& search_;
  std::string path_;
  std::vector<std::size_t> queries_;
  std::vector<Distribution> distributions_;
  std::string without_record_;  ///< The first that has none.
};

}  // namespace

void search_wheels(OwnerSearch& search) {
  for (auto& [path, queries] : sites_of(search)) Site(search, path, queries).look();
}

}  // namespace cudart_doctor
