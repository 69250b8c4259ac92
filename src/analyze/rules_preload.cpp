// RT12: what is preloaded into every new process needs a library that only this process has.
#include <algorithm>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/analyze/search_path.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"

namespace cudart_doctor {
namespace {

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// One entry of the preload lists, and the library behind it.
struct Preload {
  std::string entry;
  std::string source;  ///< "LD_PRELOAD", "/etc/ld.so.preload".
  std::optional<std::size_t> object;
  std::string file;  ///< On disk, where it is not loaded; "" for none.
  const ElfFacts* elf = nullptr;
  bool known = true;  ///< False where something may be loaded that was not seen.

  [[nodiscard]] LoaderQuery query(std::string_view name) const {
    return {.name = name, .caller = object, .caller_file = file, .start = LoaderStart::fresh};
  }
};

LoaderQuery fresh(std::string_view name) {
  return {.name = name, .caller = std::nullopt, .start = LoaderStart::fresh};
}

/// The library of a path, as a new process would load it.
void look_at(const Snapshot& snapshot, const std::string& path, Preload& preload) {
  const auto object = find_object_at(snapshot, path);
  if (object && snapshot.objects[*object].executable &&
      snapshot.objects[*object].state == FileState::same) {
    preload.object = object;
    preload.elf = snapshot.objects[*object].elf.get();
    preload.known = preload.elf != nullptr;
    return;
  }
  const auto entry = snapshot.disk.find(path);
  if (entry == snapshot.disk.end()) {
    preload.known = snapshot.origin == SnapshotOrigin::fixture;
    return;
  }
  // The loader goes on without a preload that is not there.
  preload.file = path;
  preload.elf = entry->second.elf.get();
  preload.known = preload.elf != nullptr || entry->second.kind == DiskKind::absent;
}

Preload resolved(const Snapshot& snapshot, std::string entry, std::string source) {
  Preload preload;
  preload.entry = std::move(entry);
  preload.source = std::move(source);
  const bool is_name = preload.entry.find('/') == std::string::npos;
  if (preload.entry.find('$') != std::string::npos || (!is_name && preload.entry[0] != '/')) {
    preload.known = false;
  } else if (!is_name) {
    look_at(snapshot, preload.entry, preload);
  } else {
    const LoaderAnswer answer = simulate_dlopen(snapshot, fresh(preload.entry));
    preload.known = answer.outcome == Outcome::not_found;
    if (answer.outcome == Outcome::selected && answer.disk_path) {
      look_at(snapshot, *answer.disk_path, preload);
    }
  }
  return preload;
}

std::vector<Preload> preloads(const Snapshot& snapshot) {
  std::vector<Preload> out;
  const Environment* environment = snapshot.environment.get();
  if (const std::string* list = environment ? environment->find("LD_PRELOAD") : nullptr) {
    for (std::string& entry : preload_entries(*list)) {
      out.push_back(resolved(snapshot, std::move(entry), "LD_PRELOAD"));
    }
  }
  const auto file = snapshot.disk.find(kPreloadFile);
  const std::string* text = file == snapshot.disk.end() ? nullptr : file->second.text.get();
  if (text != nullptr) {
    for (std::string& entry : preload_file_entries(*text)) {
      out.push_back(resolved(snapshot, std::move(entry), kPreloadFile));
    }
  }
  return out;
}

/// Whether a new process may have the name without this preload's own search: the program needs it
/// too, or another preload is it or needs it. True also where that is not known.
bool may_come_otherwise(const Snapshot& snapshot, const std::vector<Preload>& all,
                        const Preload& own, const std::string& name) {
  const auto program = main_program(snapshot);
  const ElfFacts* main = program ? snapshot.objects[*program].elf.get() : nullptr;
  if (main == nullptr && snapshot.origin != SnapshotOrigin::fixture) return true;
  if (main != nullptr && names(main->needed, name)) return true;
  return std::any_of(all.begin(), all.end(), [&](const Preload& other) {
    if (&other == &own) return false;
    if (other.elf == nullptr) return !other.known;
    return other.elf->soname == name || base_name(other.entry) == name ||
           (names(other.elf->needed, name) && !is_surely_missing(snapshot, other.query(name)));
  });
}

/// "by the RUNPATH of /v/.../libtorch_cuda.so": whose run path brought the loaded library; "" where
/// that does not show.
std::string brought_by(const Snapshot& snapshot, std::size_t library, const std::string& name) {
  const std::string directory(dir_name(loader_name(snapshot, library)));
  for (const std::size_t object : loaded_objects(snapshot)) {
    const ElfFacts* elf = snapshot.objects[object].elf.get();
    if (elf == nullptr || object == library || !names(elf->needed, name)) continue;
    for (const SearchEntry& entry : search_path(snapshot, object)) {
      if (entry.kind != SearchKind::directory || entry.directory != directory) continue;
      if (entry.source.find("PATH of ") != std::string::npos) return "by the " + entry.source;
    }
  }
  return {};
}

Finding unloadable(const Snapshot& snapshot, const Preload& preload, const std::string& name,
                   std::size_t library) {
  const std::string file = escape_foreign(base_name(preload.entry));
  const std::string wanted = escape_foreign(name);
  Finding finding = start_finding("RT12", Severity::critical,
                                  "A new process cannot load the preload " + file + ": it needs " +
                                      wanted + ", which is found nowhere.");
  finding.effect = "children exit with 127: " + wanted + ": cannot open shared object file";
  finding.evidence.push_back(preload.source + " names " + escape_foreign(preload.entry) +
                             "; NEEDED " + wanted);
  const std::string by = brought_by(snapshot, library, name);
  const std::string path = loader_name(snapshot, library);
  finding.evidence.push_back("This process has it" + (by.empty() ? by : ", found " + by) + ": " +
                             escape_foreign(path));
  finding.evidence.emplace_back(
      "Preloads are loaded before the program starts: nothing that it loads later can help");
  finding.fixes = {"Add " + escape_foreign(dir_name(path)) + " to LD_LIBRARY_PATH",
                   "Or give " + file + " a run path with $ORIGIN to that directory"};
  return finding;
}

void append_requests(std::vector<DiskRequest>& to, std::vector<DiskRequest> more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<DiskRequest> wanted_by_preloads(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted = {{DiskRequest::Want::text, kPreloadFile, {}}};
  for (const Preload& preload : preloads(snapshot)) {
    const bool is_name = preload.entry.find('/') == std::string::npos;
    if (is_name) append_requests(wanted, wanted_by_dlopen(snapshot, fresh(preload.entry)));
    if (preload.entry.starts_with('/') && !preload.object) {
      wanted.push_back({DiskRequest::Want::elf, preload.entry, {}});
    }
    if (preload.elf == nullptr) continue;
    for (const std::string& name : preload.elf->needed) {
      if (is_cuda_name(name))
        append_requests(wanted, wanted_by_dlopen(snapshot, preload.query(name)));
    }
  }
  return wanted;
}

std::vector<Finding> judge_preloads(const Observations& seen) {
  if (seen.snapshot.process.libc == "musl") return {};
  const Snapshot& snapshot = seen.snapshot;
  const std::vector<Preload> all = preloads(snapshot);
  std::vector<Finding> out;
  for (const Preload& preload : all) {
    if (preload.elf == nullptr) continue;
    for (const std::string& name : preload.elf->needed) {
      // Of other libraries the loader's cache is not kept.
      if (!is_cuda_name(name)) continue;
      const auto library = find_loaded_as(snapshot, name);
      if (!library || !is_surely_missing(snapshot, preload.query(name))) continue;
      if (may_come_otherwise(snapshot, all, preload, name)) continue;
      out.push_back(unloadable(snapshot, preload, name, *library));
    }
  }
  return out;
}

}  // namespace cudart_doctor
