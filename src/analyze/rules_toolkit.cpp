// RT10: libraries that belong to one CUDA release, taken from two.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"
#include "rule_phrases.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

std::string major_of(const std::string& release) { return release.substr(0, release.find('.')); }

/// A loaded library of the toolkit.
struct Part {
  std::string library;  ///< "cudart"
  std::size_t object = 0;
  std::string root;
  std::string release;  ///< "12.4"; "" when unknown.
};

/// Where a library's whole release lies: the site directory of a wheel, a toolkit's or an
/// environment's prefix.
std::string root_of(const std::string& path, const PythonFacts& python) {
  if (const auto site = split_site_path(path, python)) {
    const std::string package(site->rest.substr(0, site->rest.find('/')));
    return package == "nvidia" ? std::string(site->site) : std::string(site->site) + "/" + package;
  }
  for (const std::string_view mark : {"/targets/", "/extras/CUPTI/"}) {
    const std::size_t at = path.rfind(mark);
    if (at != std::string::npos) return path.substr(0, at);
  }
  const std::string_view directory = dir_name(path);
  const std::string_view last = base_name(directory);
  return std::string(last == "lib" || last == "lib64" ? dir_name(directory) : directory);
}

/// "12.4" of a component "cuda-12.4".
std::string release_in_directory(const std::string& path) {
  constexpr std::string_view kPrefix = "cuda-";
  for (const std::string_view component : split(path, '/')) {
    if (!component.starts_with(kPrefix)) continue;
    std::string release = release_of(component.substr(kPrefix.size()));
    if (!release.empty()) return release;
  }
  return {};
}

/// A library of the toolkit without a version text that is known to be the release's.
struct Family {
  std::string_view prefix;
  std::string_view library;
  std::string_view wheel;
  /// Whether the file's and the wheel's version begin with the release: cublas has numbers of its
  /// own in other majors than 12, CUPTI's files are numbered by year.
  bool (*is_release)(std::string_view version, bool of_file);
};

bool always(std::string_view /*version*/, bool /*of_file*/) { return true; }
bool only_of_wheel(std::string_view /*version*/, bool of_file) { return !of_file; }
bool only_in_12(std::string_view version, bool /*of_file*/) { return version.starts_with("12."); }

constexpr std::array kFamilies{
    Family{"libcublas.so.", "cublas", "nvidia-cublas", &only_in_12},
    Family{"libcublasLt.so.", "cublas", "nvidia-cublas", &only_in_12},
    Family{"libnvJitLink.so.", "nvJitLink", "nvidia-nvjitlink", &always},
    Family{"libcupti.so.", "cupti", "nvidia-cuda-cupti", &only_of_wheel},
};

std::string release_by_wheel(const Snapshot& snapshot, const Family& family,
                             const std::string& path) {
  const auto site = split_site_path(path, snapshot.python);
  if (!site || !site->rest.starts_with("nvidia/")) return {};
  std::set<std::string> releases;
  for (const PythonDistribution& wheel : snapshot.python.distributions) {
    const bool is_it = wheel.directory == site->site && wheel.name.starts_with(family.wheel) &&
                       (wheel.name.size() == family.wheel.size() ||
                        wheel.name.substr(family.wheel.size()).starts_with("-cu"));
    if (is_it && family.is_release(wheel.version, false))
      releases.insert(release_of(wheel.version));
  }
  // Wheels of two majors share a site directory; which of them has this file is not known.
  return releases.size() == 1 ? *releases.begin() : std::string();
}

std::optional<Part> named_part(const Snapshot& snapshot, std::size_t object) {
  const std::string& path = snapshot.objects[object].path();
  const std::string* soname = soname_of(snapshot, object);
  const std::string_view name = soname != nullptr ? std::string_view(*soname) : base_name(path);
  const auto* const family = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const auto& row) {
    return name.starts_with(row.prefix);
  });
  if (family == kFamilies.end()) return std::nullopt;
  Part part{std::string(family->library), object, root_of(path, snapshot.python), {}};
  const std::string_view file = base_name(path);
  if (file.starts_with(family->prefix)) {
    const std::string_view numbers = file.substr(family->prefix.size());
    if (family->is_release(numbers, true)) part.release = release_of(numbers);
  }
  if (part.release.empty()) part.release = release_in_directory(path);
  if (part.release.empty()) part.release = release_by_wheel(snapshot, *family, path);
  return part;
}

/// Private copies under hashed names serve their own package only, as static ones do.
std::vector<Part> parts_of(const Observations& seen) {
  const Snapshot& snapshot = seen.snapshot;
  std::vector<Part> out;
  const auto add = [&](std::string library, std::size_t object, const std::string& version) {
    out.push_back({std::move(library), object,
                   root_of(snapshot.objects[object].path(), snapshot.python), release_of(version)});
  };
  for (const Candidate* runtime : distinct_runtimes(snapshot, seen.candidates)) {
    if (!runtime->vendored && runtime->object) add("cudart", *runtime->object, runtime->version);
  }
  for (const Companion& companion : seen.companions) {
    const bool is_public = companion.soname.starts_with("libnvrtc.so.");
    if (companion.kind == CompanionKind::nvrtc && companion.loaded && is_public &&
        companion.object) {
      add("nvrtc", *companion.object, companion.version);
    }
  }
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (!snapshot.objects[i].executable) continue;
    if (auto part = named_part(snapshot, i)) out.push_back(std::move(*part));
  }
  // What has no version of its own is of the release that the rest of its root has.
  std::map<std::string, std::set<std::string>> releases;
  for (const Part& part : out) {
    if (!part.release.empty()) releases[part.root].insert(part.release);
  }
  for (Part& part : out) {
    const auto& known = releases[part.root];
    if (part.release.empty() && known.size() == 1) part.release = *known.begin();
  }
  return out;
}

bool do_not_mix(const Part& a, const Part& b) {
  return a.library != b.library && a.root != b.root && !a.release.empty() && !b.release.empty() &&
         a.release != b.release && major_of(a.release) == major_of(b.release);
}

/// The entry of LD_LIBRARY_PATH that lists the library's directory, as the loader or the kernel
/// writes it.
std::string entry_of(const Snapshot& snapshot, std::size_t object) {
  std::string entry = entry_that_brought(snapshot, loader_name(snapshot, object));
  return entry.empty() ? entry_that_brought(snapshot, snapshot.objects[object].path()) : entry;
}

void add_once(std::vector<std::string>& list, std::string item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

/// The root that the others are to follow: the runtime's, else the first by address.
const Part& leading_part(const std::vector<const Part*>& parts) {
  const auto runtime = std::find_if(parts.begin(), parts.end(),
                                    [](const Part* part) { return part->library == "cudart"; });
  return runtime == parts.end() ? *parts.front() : **runtime;
}

/// "cublas", "cublas (wheel nvidia-cublas-cu12 12.6.4.1)"
std::string part_phrase(const Snapshot& snapshot, const Part& part) {
  const FileOwner* owner = find_owner(snapshot, snapshot.objects[part.object].path());
  return part.library + (owner == nullptr ? "" : " (" + package_phrase(*owner) + ")");
}

std::vector<std::string> ways_to_one_release(const Snapshot& snapshot,
                                             const std::vector<const Part*>& parts,
                                             const std::vector<std::string>& entries) {
  std::vector<std::string> out;
  for (const std::string& entry : entries) {
    constexpr std::string_view kIs = " is ";
    out.push_back("Take " + entry.substr(entry.find(kIs) + kIs.size()) + " out of LD_LIBRARY_PATH");
  }
  if (entries.empty()) {
    const Part& leading = leading_part(parts);
    std::vector<std::string> odd;
    for (const Part* part : parts) {
      if (part->root != leading.root) add_once(odd, part_phrase(snapshot, *part));
    }
    out.push_back("Have " + listed(odd, "and") + " of CUDA " + leading.release + " too, from " +
                  escape_foreign(leading.root));
  }
  out.emplace_back("Restart the process");
  return out;
}

std::string owned_path(const Snapshot& snapshot, const std::string& path) {
  const std::string owner = owner_phrase(snapshot, path);
  return escape_foreign(path) + (owner.empty() ? "" : ", " + owner);
}

Finding mixed(const Snapshot& snapshot, const std::vector<const Part*>& parts) {
  std::vector<std::string> names;
  std::vector<std::string> entries;
  std::set<std::string> roots;
  for (const Part* part : parts) {
    add_once(names, part->library + " " + part->release);
    const std::string entry = entry_of(snapshot, part->object);
    if (!entry.empty()) add_once(entries, entry);
    roots.insert(part->root);
  }
  Finding finding =
      start_finding("RT10", Severity::warning,
                    "Libraries of different CUDA releases are mapped: " + listed(names, "and") +
                        ", from " + std::to_string(roots.size()) + " places.");
  finding.effect = "not made for each other: missing symbols, or kernels that cannot be linked";
  for (const Part* part : parts) {
    finding.evidence.push_back(part->library + " " + part->release + " of " +
                               escape_foreign(part->root) + ": " +
                               owned_path(snapshot, snapshot.objects[part->object].path()));
  }
  append(finding.evidence, entries);
  if (!entries.empty()) {
    finding.owner = Owner::user;
    finding.evidence.emplace_back(
        "LD_LIBRARY_PATH outranks a library's RUNPATH, but not its RPATH");
  }
  finding.fixes = ways_to_one_release(snapshot, parts, entries);
  return finding;
}

}  // namespace

std::vector<Finding> judge_origins(const Observations& seen) {
  const std::vector<Part> all = parts_of(seen);
  std::map<std::string, std::vector<const Part*>> by_major;
  for (const Part& part : all) {
    const bool is_mixed = std::any_of(all.begin(), all.end(),
                                      [&](const Part& other) { return do_not_mix(part, other); });
    if (is_mixed) by_major[major_of(part.release)].push_back(&part);
  }
  std::vector<Finding> out;
  out.reserve(by_major.size());
  for (const auto& [major, parts] : by_major) out.push_back(mixed(seen.snapshot, parts));
  return out;
}

}  // namespace cudart_doctor
