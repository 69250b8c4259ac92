// SY03: an NVRTC and the built-in functions that it opens by name when it compiles.
#include <algorithm>
#include <utility>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"

namespace cudart_doctor {
namespace {

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
        out.push_back(directory + "/" + name);
      }
    }
  }
  for (const LoadedObject& object : snapshot.objects) {
    const bool is_it = base_name(object.path()).find(kBuiltinsWord) != std::string_view::npos;
    const bool known = std::find(out.begin(), out.end(), object.path()) != out.end();
    if (object.executable && is_it && !known) out.push_back(object.path());
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

std::vector<DiskRequest> wanted_by_nvrtc(const Snapshot& snapshot) {
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

std::vector<Finding> judge_nvrtc(const Observations& seen) {
  std::vector<Finding> out;
  for (const Companion& companion : seen.companions) {
    append_findings(out, judge_builtins(seen, companion));
  }
  return out;
}

}  // namespace cudart_doctor
