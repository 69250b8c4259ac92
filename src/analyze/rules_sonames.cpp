// RT09: a runtime's name that this process asks for and that the loader finds nowhere.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kRuntimeName = "libcudart.so";

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
  const auto add = [&](const ElfFacts* elf, const std::string& path, const Wish& wish) {
    if (elf == nullptr) return;
    for (const std::string& needed : elf->needed) {
      if (!needed.starts_with(kRuntimeName) || find_loaded_as(snapshot, needed)) continue;
      Wish& added = out.emplace_back(wish);
      added.who = escape_foreign(path);
      added.name = needed;
    }
  };
  if (!all_read) return out;
  for (const std::size_t object : loaded_objects(snapshot)) {
    const LoadedObject& asker = snapshot.objects[object];
    add(asker.elf.get(), asker.path(), {{}, {}, object, {}});
  }
  for (const InstalledFile& file : snapshot.installed) {
    if (file.found_by != kNamedByUser) continue;
    const auto entry = snapshot.disk.find(file.path);
    if (entry == snapshot.disk.end()) continue;
    add(entry->second.elf.get(), file.path, {{}, {}, std::nullopt, file.path});
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
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->loaded && !b->loaded; });
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
  if (wanted && there.major && *there.major != *wanted) {
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
  const std::string other_major =
      wanted && first.major && *first.major != *wanted ? std::to_string(*first.major) : "";
  Finding finding =
      start_finding("RT09", Severity::error,
                    escape_foreign(base_name(askers.front())) + " asks for " +
                        escape_foreign(name) + ", which the loader finds nowhere" +
                        (other_major.empty() ? ", though the runtime is there."
                                             : "; there is only CUDA " + other_major + "."));
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

}  // namespace

std::vector<DiskRequest> wanted_by_sonames(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  for (const Wish& wish : open_needs(snapshot)) {
    const auto more = wanted_by_dlopen(snapshot, wish.query());
    wanted.insert(wanted.end(), more.begin(), more.end());
  }
  return wanted;
}

std::vector<Finding> judge_sonames(const Observations& seen) {
  if (seen.snapshot.process.libc == "musl") return {};
  std::vector<Wish> wishes = open_needs(seen.snapshot);
  for (Wish& wish : wishes_of_frontend(seen)) wishes.push_back(std::move(wish));
  std::map<std::string, std::vector<std::string>> askers;
  for (const Wish& wish : wishes) {
    std::vector<std::string>& known = askers[wish.name];
    if (std::find(known.begin(), known.end(), wish.who) == known.end() &&
        is_surely_missing(seen.snapshot, wish.query())) {
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

}  // namespace cudart_doctor
