// RT09, RT12: a runtime's name that the loader finds nowhere, asked for by this process, or by what
// is preloaded into every new one.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/analyze/search_path.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"
#include "rule_phrases.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kRuntimeName = "libcudart.so";
constexpr const char* kPreloadFile = "/etc/ld.so.preload";

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool goes_by(const LoadedObject& object, std::string_view name) {
  const ElfFacts* elf = object.elf.get();
  if (elf != nullptr && elf->soname == name) return true;
  return std::any_of(object.paths.begin(), object.paths.end(),
                     [&](const std::string& path) { return base_name(path) == name; });
}

/// A loaded object, of any loader namespace, that has `name` as soname, file name or the name under
/// which the loader knows it.
std::optional<std::size_t> loaded_as(const Snapshot& snapshot, std::string_view name) {
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].executable && goes_by(snapshot.objects[i], name)) return i;
  }
  const auto* spaces = snapshot.link_map.get();
  if (spaces == nullptr) return std::nullopt;
  for (const LinkNamespace& space : *spaces) {
    for (const LinkEntry& entry : space.entries) {
      if (base_name(entry.name) == name) return object_of_entry(snapshot, entry);
    }
  }
  return std::nullopt;
}

// RT09 ------------------------------------------------------------------------------------------

/// Somebody's request for a runtime by name.
struct Wish {
  std::string who;  ///< Printable.
  std::string name;
  std::optional<std::size_t> caller;
  std::string caller_file;

  [[nodiscard]] LoaderQuery query() const {
    return {.name = name, .caller = caller, .caller_file = caller_file};
  }
};

/// DT_NEEDED entries for a runtime that no loaded object answers to.
std::vector<Wish> open_needs(const Snapshot& snapshot) {
  std::vector<Wish> out;
  // A library that could not be read may carry the soname.
  const bool all_read = count_unread_libraries(snapshot) == 0;
  const auto add = [&](const ElfFacts* elf, Wish wish) {
    if (elf == nullptr) return;
    for (const std::string& needed : elf->needed) {
      if (!needed.starts_with(kRuntimeName) || loaded_as(snapshot, needed)) continue;
      wish.name = needed;
      out.push_back(wish);
    }
  };
  if (!all_read) return out;
  for (const std::size_t object : loaded_objects(snapshot)) {
    const LoadedObject& asker = snapshot.objects[object];
    add(asker.elf.get(), {escape_foreign(asker.path()), {}, object, {}});
  }
  for (const InstalledFile& file : snapshot.installed) {
    if (file.found_by != kNamedByUser) continue;
    const auto entry = snapshot.disk.find(file.path);
    if (entry == snapshot.disk.end()) continue;
    add(entry->second.elf.get(), {escape_foreign(file.path), {}, std::nullopt, file.path});
  }
  return out;
}

/// 12 of "libcudart.so.12" and "libcudart.so.12.0"; nothing where there is no number.
std::optional<int> major_in(std::string_view name) {
  if (!name.starts_with(kRuntimeName) || name.size() < kRuntimeName.size() + 2) return std::nullopt;
  const auto parts = split(name.substr(kRuntimeName.size() + 1), '.');
  const auto number = parse_unsigned(parts.front(), 10);
  if (!number || *number > 99) return std::nullopt;
  return static_cast<int>(*number);
}

/// The genuine runtimes that are here under another name: those of the wanted major, or where there
/// is none, those of the others. Loaded ones first.
std::vector<const Candidate*> instead_of(const Observations& seen, std::string_view name) {
  const auto wanted = major_in(name);
  std::vector<const Candidate*> same;
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.kind != RuntimeKind::genuine || !candidate.major) continue;
    (!wanted || candidate.major == wanted ? same : others).push_back(&candidate);
  }
  std::vector<const Candidate*>& out = same.empty() ? others : same;
  std::stable_partition(out.begin(), out.end(), [](const auto* c) { return c->loaded; });
  return out;
}

std::string wheel_of(int major) {
  return major >= 13 ? "nvidia-cuda-runtime" : "nvidia-cuda-runtime-cu" + std::to_string(major);
}

/// What would make the loader find `name`, or the asker ask for what is there.
std::vector<std::string> ways_to(const std::string& name, const Candidate& there) {
  const std::string path = escape_foreign(there.path);
  const std::string directory = escape_foreign(dir_name(there.path));
  const auto wanted = major_in(name);
  if (wanted && there.major != wanted) {
    return {"Install the CUDA " + std::to_string(*wanted) + " runtime (" + wheel_of(*wanted) +
                "), where the loader finds it",
            "Or take a build for CUDA " + std::to_string(*there.major)};
  }
  if (there.soname != name) {
    return {"Ask for the runtime by its soname, " + escape_foreign(there.soname),
            "Or install a runtime that has the wanted name"};
  }
  if (base_name(there.path) != name) {
    return {"Add the link: ln -s " + escape_foreign(base_name(there.path)) + " " + directory + "/" +
                escape_foreign(name),
            "And have " + directory + " searched, by a run path or LD_LIBRARY_PATH"};
  }
  return {"Add " + directory + " to LD_LIBRARY_PATH, or to the run path of what asks",
          "Or load " + path + " before it"};
}

Finding unsatisfied(const std::string& name, const std::vector<std::string>& askers,
                    const std::vector<const Candidate*>& there) {
  constexpr std::size_t kMost = 3;
  const Candidate& first = *there.front();
  const auto wanted = major_in(name);
  const bool other_major = wanted && first.major != wanted;
  Finding finding =
      start_finding("RT09", Severity::error,
                    escape_foreign(base_name(askers.front())) + " asks for " +
                        escape_foreign(name) + ", which the loader finds nowhere" +
                        (other_major ? "; there is only CUDA " + std::to_string(*first.major) + "."
                                     : ", though the runtime is there."));
  finding.effect = escape_foreign(name) +
                   ": cannot open shared object file; what asks for it does not load, or goes on "
                   "without CUDA";
  for (const std::string& asker : askers) finding.evidence.push_back("Asked for by " + asker);
  for (std::size_t i = 0; i < std::min(kMost, there.size()); ++i) {
    const Candidate& candidate = *there[i];
    finding.evidence.push_back((candidate.loaded ? "There, mapped: " : "There, on disk: ") +
                               escape_foreign(candidate.path) + ", soname " +
                               escape_foreign(candidate.soname) +
                               (candidate.version.empty() ? "" : ", version " + candidate.version));
  }
  finding.fixes = ways_to(name, first);
  return finding;
}

bool is_frontend(const LoadedObject& object) {
  return object.executable && base_name(object.path()).starts_with("_compiled_module.") &&
         base_name(dir_name(object.path())) == "cudnn";
}

/// What cuDNN's front end asked for in vain, where its code and a runtime are mapped.
std::vector<Wish> wishes_of_frontend(const Observations& seen) {
  const auto runtimes = distinct_runtimes(seen.snapshot, seen.candidates);
  const auto row =
      std::find_if(seen.selections.begin(), seen.selections.end(), [](const Selection& selection) {
        return selection.consumer == "cudnn-frontend" && selection.outcome == Outcome::not_found &&
               selection.presence == Presence::present;
      });
  if (runtimes.empty() || row == seen.selections.end()) return {};
  // Without its variable it tries both majors.
  std::string name = row->chosen_text;
  if (name.empty()) name = runtimes.front()->major == 13 ? "libcudart.so.13" : "libcudart.so.12";
  std::vector<Wish> out;
  for (std::size_t i = 0; i < seen.snapshot.objects.size(); ++i) {
    const LoadedObject& object = seen.snapshot.objects[i];
    if (is_frontend(object) && name.starts_with(kRuntimeName)) {
      out.push_back({escape_foreign(object.path()), name, i, {}});
    }
  }
  return out;
}

std::vector<Finding> judge_names(const Observations& seen) {
  std::vector<Wish> wishes = open_needs(seen.snapshot);
  for (Wish& wish : wishes_of_frontend(seen)) wishes.push_back(std::move(wish));
  std::map<std::string, std::vector<std::string>> askers;
  for (const Wish& wish : wishes) {
    std::vector<std::string>& known = askers[wish.name];
    if (!names(known, wish.who) && is_surely_missing(seen.snapshot, wish.query())) {
      known.push_back(wish.who);
    }
  }
  std::vector<Finding> out;
  for (const auto& [name, who] : askers) {
    const auto there = instead_of(seen, name);
    // With nothing there at all it is RT01's.
    if (!who.empty() && !there.empty()) out.push_back(unsatisfied(name, who, there));
  }
  return out;
}

// RT12 ------------------------------------------------------------------------------------------

/// One entry of the preload lists, and the library behind it.
struct Preload {
  std::string entry;
  std::string source;  ///< "LD_PRELOAD", "/etc/ld.so.preload".
  std::optional<std::size_t> object{};
  std::string file{};  ///< On disk, where it is not loaded; "" for none.
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
  Preload preload{.entry = std::move(entry), .source = std::move(source)};
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

std::vector<Finding> judge_preloads(const Observations& seen) {
  const Snapshot& snapshot = seen.snapshot;
  const std::vector<Preload> all = preloads(snapshot);
  std::vector<Finding> out;
  for (const Preload& preload : all) {
    if (preload.elf == nullptr) continue;
    for (const std::string& name : preload.elf->needed) {
      // Of other libraries the loader's cache is not kept.
      if (!is_cuda_name(name)) continue;
      const auto library = loaded_as(snapshot, name);
      if (!library || !is_surely_missing(snapshot, preload.query(name))) continue;
      if (may_come_otherwise(snapshot, all, preload, name)) continue;
      out.push_back(unloadable(snapshot, preload, name, *library));
    }
  }
  return out;
}

void append_requests(std::vector<DiskRequest>& to, std::vector<DiskRequest> more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<DiskRequest> wanted_by_loading(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted = {{DiskRequest::Want::text, kPreloadFile, {}}};
  for (const Wish& wish : open_needs(snapshot))
    append_requests(wanted, wanted_by_dlopen(snapshot, wish.query()));
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

std::vector<Finding> judge_loading(const Observations& seen) {
  if (seen.snapshot.process.libc == "musl") return {};
  std::vector<Finding> out = judge_names(seen);
  append_findings(out, judge_preloads(seen));
  return out;
}

}  // namespace cudart_doctor
