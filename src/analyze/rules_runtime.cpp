// RT01, RT02, RT03, RT05, RT06: what runtimes are there, apart from who selects which.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>

#include "consumer_presence.hpp"
#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/model/link_map_reasons.hpp"
#include "cudart_doctor/model/loader_spaces.hpp"
#include "probe_view.hpp"
#include "rule_phrases.hpp"
#include "rules_override.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 3> kPublicSonames{"libcudart.so.11.0", "libcudart.so.12",
                                                         "libcudart.so.13"};

bool is_public_soname(std::string_view soname) {
  return std::find(kPublicSonames.begin(), kPublicSonames.end(), soname) != kPublicSonames.end();
}

/// The wheel that brings a runtime of this public name; "" for another name.
std::string wheel_of_soname(std::string_view soname) {
  constexpr std::array<std::string_view, 3> kWheels{
      "nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime"};
  for (std::size_t i = 0; i < kWheels.size(); ++i) {
    if (kPublicSonames.at(i) == soname) return std::string(kWheels.at(i));
  }
  return {};
}

std::vector<const Candidate*> loaded_of_kind(const Observations& seen, RuntimeKind kind) {
  std::vector<const Candidate*> out;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.loaded && candidate.kind == kind) out.push_back(&candidate);
  }
  return out;
}

std::string described(const Observations& seen, const Candidate& candidate) {
  std::string text = escape_foreign(candidate.path);
  if (!candidate.version.empty()) text += ", version " + candidate.version;
  // Before what is of any length: two copies of one version differ in it alone.
  if (candidate.build_id) text += ", build-id " + short_build_id(*candidate.build_id);
  if (!candidate.soname.empty()) text += ", soname " + escape_foreign(candidate.soname);
  for (const std::string& phrase : user_phrases(seen, candidate)) text += ", " + phrase;
  const std::string owner = owner_phrase(seen.snapshot, candidate.path);
  if (!owner.empty()) text += ", " + owner;
  return text;
}

/// Objects that ask for a runtime by DT_NEEDED or by undefined runtime functions.
std::vector<std::string> needing_objects(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const LoadedObject& object : snapshot.objects) {
    const ElfFacts* elf = object.elf.get();
    if (elf == nullptr || !object.executable) continue;
    const auto needed = std::find_if(elf->needed.begin(), elf->needed.end(), [](const auto& name) {
      return name.starts_with("libcudart");
    });
    if (needed != elf->needed.end()) {
      out.push_back(escape_foreign(object.path()) + " needs " + escape_foreign(*needed));
      continue;
    }
    const auto undefined =
        std::find_if(elf->undefined.begin(), elf->undefined.end(), [](const SymbolRef& symbol) {
          return symbol.name.starts_with("cuda") || symbol.name.starts_with("__cuda");
        });
    if (undefined != elf->undefined.end()) {
      out.push_back(escape_foreign(object.path()) + " uses " + escape_foreign(undefined->name));
    }
  }
  return out;
}

/// A runtime may hide behind an object that could not be read, or be about to come: then nothing is
/// "absent".
bool may_hide_a_runtime(const Observations& seen) {
  // What the loader has yet to map is not missing.
  if (seen.snapshot.link_map.reason() == kLoaderHasNotRun) return true;
  if (count_unread_libraries(seen.snapshot) > 0) return true;
  return std::any_of(seen.candidates.begin(), seen.candidates.end(), [](const Candidate& c) {
    return c.object && c.kind == RuntimeKind::undetermined;
  });
}

/// Rows of consumers that are here and find nothing among the mappings.
Rows present_rows(const Observations& seen) {
  Rows out;
  for (const Selection* row : counting_rows(seen, {})) {
    if (row->presence == Presence::present && row->outcome == Outcome::none) out.push_back(row);
  }
  return leading_rows(out);
}

Finding static_only(const Observations& seen, const std::vector<const Candidate*>& statics) {
  const std::string holder = statics.size() == 1 ? escape_foreign(base_name(statics.front()->path))
                                                 : std::to_string(statics.size()) + " libraries";
  Finding finding =
      start_finding("RT02", Severity::warning,
                    "The CUDA runtime is there only inside " + holder + ", linked in statically.");
  finding.effect = "consumers that search the mappings say: libcudart is not loaded";
  const Rows here = present_rows(seen);
  if (!here.empty()) {
    finding.consumer = consumer_phrase(*here.front());
    finding.effect =
        "for " + subject_of(here, "and") + " no libcudart is loaded: " + failure_effect_of(here);
  }
  for (const Candidate* copy : statics) {
    finding.evidence.push_back(described(seen, *copy));
  }
  finding.fixes = {"Load a shared libcudart before the consumer starts (importing PyTorch does)"};
  if (here.empty() || here.front()->consumer == "vllm") {
    finding.fixes.emplace_back("vLLM only: set VLLM_CUDART_SO_PATH to a shared libcudart");
  }
  finding.no_help = {"Removing the static copies: they are normal, and no fault by themselves"};
  return finding;
}

/// The runtime that the first needing library names, and the wheel that has it.
std::string remedy_of_absence(const Snapshot& snapshot) {
  for (const LoadedObject& object : snapshot.objects) {
    const ElfFacts* elf = object.elf.get();
    if (elf == nullptr || !object.executable) continue;
    for (const std::string& name : elf->needed) {
      const std::string wheel = wheel_of_soname(name);
      if (!wheel.empty()) {
        return "Install " + name + " (wheel " + wheel + ", or the toolkit's), or load it first";
      }
    }
  }
  return "Install the runtime that the needing library was built for, or load it first";
}

std::vector<Finding> judge_absence(const Observations& seen) {
  if (!loaded_of_kind(seen, RuntimeKind::genuine).empty() || may_hide_a_runtime(seen)) return {};
  const auto statics = loaded_of_kind(seen, RuntimeKind::static_copy);
  if (!statics.empty()) return {static_only(seen, statics)};
  const auto needing = needing_objects(seen.snapshot);
  Finding finding =
      start_finding("RT01", needing.empty() ? Severity::info : Severity::error,
                    needing.empty() ? "No CUDA runtime is mapped, and nothing here asks for one."
                                    : "No CUDA runtime is mapped, though a library needs one.");
  finding.effect = needing.empty() ? "none yet: CUDA may not have been started"
                                   : "code that needs the runtime fails at its first call";
  finding.evidence = needing;
  finding.evidence.push_back(
      count_of(seen.snapshot.capture.objects_read, "mapped library", "mapped libraries") +
      " looked at; " + std::to_string(seen.snapshot.capture.static_searched) +
      " searched for a static runtime");
  if (needing.empty()) {
    finding.fixes = {unseen_children(seen.snapshot) == 0
                         ? "Look again once the program has started CUDA"
                         : "Look at the processes below it: cudart-doctor tree --pid " +
                               std::to_string(seen.snapshot.process.pid)};
  } else {
    finding.fixes = {remedy_of_absence(seen.snapshot)};
  }
  return {std::move(finding)};
}

std::vector<Finding> judge_look_alikes(const Observations& seen) {
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (!is_look_alike(candidate)) continue;
    Finding finding =
        start_finding("RT03", candidate.selectable_by_name ? Severity::warning : Severity::info,
                      look_alike_phrase(candidate) + " is mapped: it is no CUDA runtime.");
    if (finding.headline.starts_with('t')) finding.headline.front() = 'T';
    finding.effect = candidate.selectable_by_name
                         ? "a consumer that picks the runtime by name may take it"
                         : "none by name: no known rule can pick a file of this name";
    if (!candidate.missing.empty()) {
      finding.evidence.push_back("Lacks " + std::to_string(candidate.missing.size()) + " of " +
                                 count_of(candidate.names_asked, "name") +
                                 " that consumers bind: " + join(candidate.missing, ", "));
    }
    finding.evidence.push_back(described(seen, candidate));
    append(finding.evidence, probe_sentences(seen, candidate));
    const bool said = find_owner(seen.snapshot, candidate.path) != nullptr;
    if (!candidate.package.empty() && !said) {
      finding.evidence.push_back("Package: " + escape_foreign(candidate.package));
    }
    finding.evidence.insert(finding.evidence.end(), candidate.evidence.begin(),
                            candidate.evidence.end());
    if (candidate.selectable_by_name) {
      finding.fixes.push_back(look_alike_remedy(seen.snapshot, candidate));
    } else {
      finding.fixes.emplace_back("None needed");
    }
    out.push_back(std::move(finding));
  }
  return out;
}

/// Which package to keep, where more than one is known to have brought the copies.
std::string one_of(const Snapshot& snapshot, const std::vector<const Candidate*>& copies) {
  std::set<std::string> packages;
  for (const Candidate* copy : copies) {
    const FileOwner* owner = find_owner(snapshot, copy->path);
    if (owner != nullptr) packages.insert(package_phrase(*owner));
  }
  if (packages.size() < 2) return "Make all users resolve to one file: one wheel or one toolkit";
  return "Make all users resolve to one file: of " +
         listed({packages.begin(), packages.end()}, "or");
}

/// Which of several copies of one soname a DT_NEEDED or dlopen of it gives.
std::string soname_sentence(const Observations& seen, const std::vector<const Candidate*>& copies,
                            const std::string& soname) {
  const Candidate* first = nullptr;
  std::uint32_t place = UINT32_MAX;
  for (const Candidate* copy : copies) {
    const Provenance* brought = provenance_of(seen, *copy);
    if (copy->soname != soname || brought == nullptr || brought->loader_namespace != 0) continue;
    if (!brought->load_order || *brought->load_order >= place) continue;
    place = *brought->load_order;
    first = copy;
  }
  if (first == nullptr) return "Only load order decides which of them " + soname + " gives";
  return soname + " gives " + escape_foreign(first->path) + ": it was loaded first";
}

std::vector<Finding> judge_duplicates(const Observations& seen) {
  std::map<int, std::vector<const Candidate*>> by_major;
  for (const Candidate* candidate : distinct_runtimes(seen.snapshot, seen.candidates)) {
    if (candidate->major) by_major[*candidate->major].push_back(candidate);
  }
  std::vector<Finding> out;
  for (const auto& [major, copies] : by_major) {
    if (copies.size() < 2) continue;
    std::set<std::string> sonames;
    std::string shared;
    for (const Candidate* copy : copies) {
      if (is_public_soname(copy->soname) && !sonames.insert(copy->soname).second) {
        shared = copy->soname;
      }
    }
    const auto reported = reported_code(seen.snapshot, "app.reported");
    const bool seen_failing = reported == 400 || reported == 98;
    Finding finding = start_finding(
        "RT05", shared.empty() && !seen_failing ? Severity::warning : Severity::error,
        std::to_string(copies.size()) + " copies of the CUDA " + std::to_string(major) +
            " runtime are loaded" + (shared.empty() ? "." : " under one soname, " + shared + "."));
    for (const Candidate* copy : copies) finding.evidence.push_back(described(seen, *copy));
    if (!shared.empty()) {
      finding.evidence.push_back(soname_sentence(seen, copies, shared));
    }
    if (seen_failing) {
      finding.evidence.push_back("The application reported CUDA error " + shown_code(*reported));
    }
    finding.effect =
        shared.empty() && !seen_failing
            ? "mostly harmless: each serves its own library; handles do not pass between them"
            : "handles of one mean nothing to the other: CUDA error 400, or kernels not found (98)";
    finding.fixes.push_back(one_of(seen.snapshot, copies));
    out.push_back(std::move(finding));
  }
  return out;
}

/// RT05 for one file: dlmopen loads it anew, with variables of its own.
std::vector<Finding> judge_namespace_copies(const Observations& seen) {
  std::vector<Finding> out;
  for (const Candidate* candidate : distinct_runtimes(seen.snapshot, seen.candidates)) {
    const auto ids = loader_namespaces_of(seen.snapshot, *candidate->object);
    if (ids.size() < 2) continue;
    std::vector<std::string> names;
    for (const std::uint32_t id : ids) names.push_back(std::to_string(id));
    Finding finding = start_finding("RT05", Severity::warning,
                                    escape_foreign(base_name(candidate->path)) + " is loaded " +
                                        std::to_string(ids.size()) + " times, once in each of " +
                                        std::to_string(ids.size()) + " loader namespaces.");
    finding.effect =
        "each namespace's libraries use their own copy; handles do not pass between the copies";
    finding.evidence.push_back(described(seen, *candidate));
    finding.evidence.push_back("In loader namespaces " + listed(names, "and") +
                               " (0 is the program's, others come from dlmopen)");
    finding.fixes = {"Use CUDA in one namespace only, or pass no handles between them"};
    out.push_back(std::move(finding));
  }
  return out;
}

/// An environment that could not be read is neither set nor unset.
std::string override_state(const Snapshot& snapshot) {
  if (!snapshot.environment.is_known()) return "not known: the environment was not read";
  const std::string* value = frontend_override(snapshot);
  return value == nullptr ? "not set" : "set to " + escape_foreign(*value);
}

/// The answer of cuDNN's front end in the vintage that is there: of the rows that count in full,
/// the first that refuses two majors. With the override set, only a front end that is known not to
/// read it can refuse.
const Selection* refusing_frontend(const Observations& seen) {
  if (find_front_end(seen.snapshot) == nullptr) return nullptr;
  const bool pinned = frontend_override(seen.snapshot) != nullptr;
  const auto found =
      std::find_if(seen.selections.begin(), seen.selections.end(), [&](const Selection& row) {
        return row.policy.starts_with("cudnn-frontend") && counts_in_full(row) &&
               row.outcome == Outcome::multiple && (!pinned || row.presence == Presence::present);
      });
  return found == seen.selections.end() ? nullptr : &*found;
}

/// Majors that a plain load by soname would bring in from disk, with the file.
std::map<int, std::string> reachable_majors(const Observations& seen) {
  constexpr std::array<std::pair<std::string_view, int>, 3> kRows{{{"dlopen:libcudart.so.11.0", 11},
                                                                   {"dlopen:libcudart.so.12", 12},
                                                                   {"dlopen:libcudart.so.13", 13}}};
  std::map<int, std::string> out;
  for (const Selection& selection : seen.selections) {
    for (const auto& [id, major] : kRows) {
      if (selection.policy == id && selection.outcome == Outcome::selected && !selection.object &&
          selection.disk_path) {
        out[major] = *selection.disk_path;
      }
    }
  }
  return out;
}

/// "/usr/local/cuda/lib64/libcudart.so.13, a link to PATH": RUNTIMES lists the file under its own
/// name.
std::string with_real_path(const Snapshot& snapshot, const std::string& path) {
  const auto entry = snapshot.disk.find(path);
  const bool is_link = entry != snapshot.disk.end() && !entry->second.real_path.empty() &&
                       entry->second.real_path != path;
  return escape_foreign(path) +
         (is_link ? ", a link to " + escape_foreign(entry->second.real_path) : std::string());
}

std::vector<Finding> judge_majors(const Observations& seen) {
  std::map<int, const Candidate*> mapped;
  for (const Candidate* candidate : distinct_runtimes(seen.snapshot, seen.candidates)) {
    if (candidate->major) mapped.try_emplace(*candidate->major, candidate);
  }
  if (mapped.empty()) return {};
  std::map<int, std::string> reachable = reachable_majors(seen);
  for (const auto& [major, candidate] : mapped) reachable.erase(major);
  if (mapped.size() < 2 && reachable.empty()) return {};

  const Selection* refusing = refusing_frontend(seen);
  const bool frontend = find_front_end(seen.snapshot) != nullptr;
  Severity severity = mapped.size() > 1 || frontend ? Severity::warning : Severity::info;
  if (refusing != nullptr) severity = Severity::critical;
  std::vector<std::string> majors;
  for (const auto& [major, candidate] : mapped) majors.push_back("CUDA " + std::to_string(major));
  std::string headline = "Runtimes of " + listed(majors, "and") + " are mapped in one process.";
  if (mapped.size() < 2) {
    headline = majors.front() + " is mapped; a load by name would bring in CUDA " +
               std::to_string(reachable.begin()->first) + " as well.";
  }
  Finding finding = start_finding("RT06", severity, std::move(headline));
  if (refusing != nullptr) {
    finding.effect = "cuDNN's front end refuses to start: " + refusing->error_text;
    finding.consumer = "cuDNN front end";
  } else if (mapped.size() < 2) {
    finding.effect = "none yet; a library of the other major would load a second runtime";
  } else {
    finding.effect = "a rule that takes the first by address may take the wrong major";
  }
  std::vector<std::string> files;
  for (const auto& [major, candidate] : mapped) {
    finding.evidence.push_back("CUDA " + std::to_string(major) + ": " +
                               described(seen, *candidate));
    files.push_back(origin_phrase(*candidate));
  }
  for (const auto& [major, path] : reachable) {
    finding.evidence.push_back("Reachable, not mapped: CUDA " + std::to_string(major) + " at " +
                               with_real_path(seen.snapshot, path));
    files.push_back(escape_foreign(path));
  }
  if (frontend) {
    finding.evidence.push_back("cuDNN's front end is mapped; its override is " +
                               override_state(seen.snapshot));
  }
  finding.fixes.push_back(severity == Severity::info
                              ? "None needed while nothing asks for CUDA " +
                                    std::to_string(reachable.begin()->first)
                              : "Let the process load only one of " + listed(files, "and"));
  if (refusing != nullptr) {
    finding.fixes.emplace_back(
        "Or cuDNN front end 1.25.0 or later, CUDNN_FRONTEND_CUDART_LIB_NAME naming one runtime");
    finding.fixes.emplace_back("Restart all ranks");
  }
  return {std::move(finding)};
}

}  // namespace

std::vector<const Candidate*> distinct_runtimes(const Snapshot& snapshot,
                                                std::span<const Candidate> candidates) {
  const auto same = [&](const Candidate& a, const Candidate& b) {
    const FileKey& left = snapshot.objects[*a.object].key;
    const FileKey& right = snapshot.objects[*b.object].key;
    return left == right || (left.inode == right.inode && a.build_id && a.build_id == b.build_id);
  };
  std::vector<const Candidate*> out;
  for (const Candidate& candidate : candidates) {
    if (!candidate.loaded || candidate.kind != RuntimeKind::genuine) continue;
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Candidate* other) { return same(candidate, *other); });
    if (!known) out.push_back(&candidate);
  }
  return out;
}

std::vector<Finding> judge_runtimes(const Observations& seen) {
  std::vector<Finding> out;
  for (auto* const rule : {&judge_absence, &judge_look_alikes, &judge_duplicates,
                           &judge_namespace_copies, &judge_majors, &judge_overrides}) {
    append_findings(out, rule(seen));
  }
  return out;
}

}  // namespace cudart_doctor
