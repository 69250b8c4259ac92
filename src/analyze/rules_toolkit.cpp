// RT10, SY03: libraries that belong to one CUDA release, taken from two.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"
#include "rule_phrases.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

/// "12.4" of "12.4.127"; "" where there are no two numbers.
std::string release_of(std::string_view version) {
  const auto parts = split(version, '.');
  if (parts.size() < 2 || !parse_unsigned(parts[0], 10) || !parse_unsigned(parts[1], 10)) return {};
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

std::string major_of(const std::string& release) { return release.substr(0, release.find('.')); }

// RT10 ------------------------------------------------------------------------------------------

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
    if (!runtime->vendored) add("cudart", *runtime->object, runtime->version);
  }
  for (const Companion& companion : seen.companions) {
    const bool is_public = companion.soname.starts_with("libnvrtc.so.");
    if (companion.kind == CompanionKind::nvrtc && companion.loaded && is_public) {
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

std::vector<std::string> ways_to_one_release(const std::vector<const Part*>& parts,
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
      if (part->root != leading.root) add_once(odd, part->library);
    }
    out.push_back("Have " + listed(odd, "and") + " of CUDA " + leading.release + " too, from " +
                  escape_foreign(leading.root));
  }
  out.emplace_back("Restart the process");
  return out;
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
                               escape_foreign(snapshot.objects[part->object].path()));
  }
  append(finding.evidence, entries);
  if (!entries.empty()) {
    finding.owner = Owner::user;
    finding.evidence.emplace_back(
        "LD_LIBRARY_PATH outranks a library's RUNPATH, but not its RPATH");
  }
  finding.fixes = ways_to_one_release(parts, entries);
  return finding;
}

std::vector<Finding> judge_origins(const Observations& seen) {
  const std::vector<Part> all = parts_of(seen);
  std::map<std::string, std::vector<const Part*>> by_major;
  for (const Part& part : all) {
    const bool is_mixed = std::any_of(all.begin(), all.end(),
                                      [&](const Part& other) { return do_not_mix(part, other); });
    if (is_mixed) by_major[major_of(part.release)].push_back(&part);
  }
  std::vector<Finding> out;
  for (const auto& [major, parts] : by_major) out.push_back(mixed(seen.snapshot, parts));
  return out;
}

// SY03 ------------------------------------------------------------------------------------------

constexpr std::string_view kBuiltins = "libnvrtc-builtins.so.";
constexpr std::string_view kBuiltinsWord = "nvrtc-builtins";

/// The name that an NVRTC opens for its built-in functions: that of its own release.
std::string builtins_for(const Companion& nvrtc) {
  const std::string release = release_of(nvrtc.version);
  const bool is_alternative = nvrtc.soname.find(".alt.") != std::string::npos;
  if (nvrtc.kind != CompanionKind::nvrtc || !nvrtc.loaded || is_alternative || release.empty()) {
    return {};
  }
  return std::string(kBuiltins) + release;
}

/// The release of the builtins at the end of a search, by their soname or their file's name; ""
/// where neither tells.
std::string release_found(const Snapshot& snapshot, const LoaderAnswer& answer) {
  std::string soname;
  std::string path;
  if (answer.object) {
    const std::string* own = soname_of(snapshot, *answer.object);
    if (own != nullptr) soname = *own;
    path = snapshot.objects[*answer.object].path();
  } else if (answer.disk_path) {
    const auto entry = snapshot.disk.find(*answer.disk_path);
    if (entry == snapshot.disk.end()) return {};
    const ElfFacts* elf = entry->second.elf.get();
    if (elf != nullptr && elf->soname) soname = *elf->soname;
    path = entry->second.real_path.empty() ? *answer.disk_path : entry->second.real_path;
  }
  for (const std::string_view name : {std::string_view(soname), base_name(path)}) {
    if (!name.starts_with(kBuiltins)) continue;
    std::string release = release_of(name.substr(kBuiltins.size()));
    if (!release.empty()) return release;
  }
  return {};
}

/// Files named like builtins beside the NVRTC, and loaded ones.
std::vector<std::string> builtins_there(const Snapshot& snapshot, const Companion& nvrtc) {
  std::vector<std::string> out;
  const std::string directory(dir_name(nvrtc.path));
  if (const auto entry = snapshot.disk.find(directory); entry != snapshot.disk.end()) {
    for (const std::string& name : entry->second.names) {
      if (name.find(kBuiltinsWord) != std::string::npos && name.find(".so") != std::string::npos) {
        add_once(out, directory + "/" + name);
      }
    }
  }
  for (const LoadedObject& object : snapshot.objects) {
    const bool is_it = base_name(object.path()).find(kBuiltinsWord) != std::string_view::npos;
    if (object.executable && is_it) add_once(out, object.path());
  }
  return out;
}

Finding builtins_finding(const Companion& nvrtc, std::string headline) {
  Finding finding = start_finding("SY03", Severity::error, std::move(headline));
  finding.evidence.push_back("nvrtc " + nvrtc.version + ": " + escape_foreign(nvrtc.path));
  return finding;
}

std::vector<Finding> judge_builtins(const Observations& seen, const Companion& nvrtc) {
  const std::string name = builtins_for(nvrtc);
  if (name.empty()) return {};
  const LoaderQuery query{.name = name, .caller = nvrtc.object};
  const LoaderAnswer answer = simulate_dlopen(seen.snapshot, query);
  if (answer.outcome == Outcome::selected) {
    const std::string release = release_found(seen.snapshot, answer);
    if (release.empty() || release == release_of(nvrtc.version)) return {};
    Finding finding = builtins_finding(
        nvrtc, "NVRTC " + nvrtc.version + " would open the builtins of " + release + ".");
    const std::string path = answer.disk_path.value_or(
        answer.object ? seen.snapshot.objects[*answer.object].path() : std::string());
    finding.effect =
        "run-time compilation fails, or uses the built-in functions of another release";
    finding.evidence.push_back("Builtins " + release + " under the name " + name + ": " +
                               escape_foreign(path));
    const std::string entry = entry_that_brought(seen.snapshot, path);
    if (!entry.empty()) finding.evidence.push_back(entry);
    finding.fixes = {entry.empty()
                         ? "Put the builtins of " + release_of(nvrtc.version) +
                               " there: NVRTC and builtins of one release"
                         : "Take " + escape_foreign(dir_name(path)) + " out of LD_LIBRARY_PATH"};
    return {std::move(finding)};
  }
  const auto there = builtins_there(seen.snapshot, nvrtc);
  if (there.empty() || !is_surely_missing(seen.snapshot, query)) return {};
  Finding finding = builtins_finding(nvrtc, "NVRTC " + nvrtc.version +
                                                " does not find its builtins: no file is named " +
                                                name + " where the loader looks.");
  finding.effect = "run-time compilation fails: nvrtc: error: failed to open " + name;
  for (const std::string& path : there) {
    finding.evidence.push_back("There instead: " + escape_foreign(path));
  }
  const std::string& first = there.front();
  const bool is_other_release = base_name(first).starts_with(kBuiltins);
  if (!is_other_release) {
    finding.fixes = {"Add the link: ln -s " + escape_foreign(base_name(first)) + " " +
                     escape_foreign(dir_name(first)) + "/" + name};
  }
  finding.fixes.emplace_back("Install NVRTC and its builtins of one release");
  return {std::move(finding)};
}

}  // namespace

std::vector<DiskRequest> wanted_by_toolkit(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const LoadedObject& object = snapshot.objects[i];
    if (!object.executable || !object.content.is_known()) continue;
    Companion companion = identify_companion(object.path(), object.elf, object.content);
    companion.loaded = true;
    const std::string name = builtins_for(companion);
    if (name.empty()) continue;
    const auto search = wanted_by_dlopen(snapshot, {.name = name, .caller = i});
    wanted.insert(wanted.end(), search.begin(), search.end());
    wanted.push_back({DiskRequest::Want::list, std::string(dir_name(object.path())),
                      std::string(kBuiltinsWord)});
  }
  return wanted;
}

std::vector<Finding> judge_toolkit(const Observations& seen) {
  std::vector<Finding> out = judge_origins(seen);
  for (const Companion& companion : seen.companions) {
    append_findings(out, judge_builtins(seen, companion));
  }
  return out;
}

}  // namespace cudart_doctor
