// RT01, RT02, RT03, RT05, RT06, RT11: what runtimes are there, apart from who selects which.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/remedies.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 3> kPublicSonames{"libcudart.so.11.0", "libcudart.so.12",
                                                         "libcudart.so.13"};

bool is_public_soname(std::string_view soname) {
  return std::find(kPublicSonames.begin(), kPublicSonames.end(), soname) != kPublicSonames.end();
}

std::vector<const Candidate*> loaded_of_kind(const Observations& seen, RuntimeKind kind) {
  std::vector<const Candidate*> out;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.loaded && candidate.kind == kind) out.push_back(&candidate);
  }
  return out;
}

std::string described(const Candidate& candidate) {
  std::string text = escape_foreign(candidate.path);
  if (!candidate.version.empty()) text += ", version " + candidate.version;
  if (!candidate.soname.empty()) text += ", soname " + escape_foreign(candidate.soname);
  if (candidate.build_id) text += ", build-id " + *candidate.build_id;
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

/// A runtime may hide behind an object that could not be read: then nothing is "absent".
bool may_hide_a_runtime(const Observations& seen) {
  return std::any_of(seen.candidates.begin(), seen.candidates.end(), [](const Candidate& c) {
    return c.object && c.kind == RuntimeKind::undetermined;
  });
}

std::vector<Finding> judge_absence(const Observations& seen) {
  if (!loaded_of_kind(seen, RuntimeKind::genuine).empty() || may_hide_a_runtime(seen)) return {};
  const auto statics = loaded_of_kind(seen, RuntimeKind::static_copy);
  if (!statics.empty()) {
    Finding finding = start_finding("RT02", Severity::warning,
                                    "The CUDA runtime is there only as " +
                                        count_of(statics.size(), "static copy", "static copies") +
                                        " inside other libraries.");
    for (const Candidate* copy : statics) finding.evidence.push_back(described(*copy));
    finding.evidence.emplace_back("Scanning consumers will say: libcudart is not loaded");
    finding.fixes = {"Load a shared libcudart before the consumer starts",
                     "vLLM only: set VLLM_CUDART_SO_PATH to a shared libcudart"};
    return {std::move(finding)};
  }
  const auto needing = needing_objects(seen.snapshot);
  Finding finding = start_finding("RT01", needing.empty() ? Severity::info : Severity::error,
                                  "No CUDA runtime is mapped in this process.");
  if (needing.empty()) {
    finding.effect = "none yet: nothing that is mapped asks for one";
  } else {
    finding.effect = "code that needs the runtime fails at its first call";
  }
  finding.evidence = needing;
  finding.evidence.push_back(
      count_of(seen.snapshot.capture.objects_read, "mapped library", "mapped libraries") +
      " looked at; " + std::to_string(seen.snapshot.capture.static_searched) +
      " searched for a static runtime");
  finding.fixes = {"Look again once the program has started CUDA",
                   "Install the runtime that the program needs"};
  return {std::move(finding)};
}

std::vector<Finding> judge_look_alikes(const Observations& seen) {
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (!is_look_alike(candidate)) continue;
    const std::string what = candidate.label.empty() ? "a look-alike" : candidate.label;
    Finding finding =
        start_finding("RT03", candidate.selectable_by_name ? Severity::warning : Severity::info,
                      "A look-alike of the CUDA runtime is mapped: " + what + " " +
                          escape_foreign(base_name(candidate.path)) + ".");
    finding.effect = candidate.selectable_by_name
                         ? "a consumer that picks the runtime by name may take it"
                         : "none by name: no known rule can pick a file of this name";
    finding.evidence.push_back(described(candidate));
    if (candidate.exports_known) {
      finding.evidence.push_back("Exports " + count_of(candidate.exported, "runtime function"));
    }
    if (!candidate.missing.empty()) {
      finding.evidence.push_back("Lacks " + join(candidate.missing, ", "));
    }
    finding.evidence.insert(finding.evidence.end(), candidate.evidence.begin(),
                            candidate.evidence.end());
    const std::string owner = candidate.package.empty() ? "the package that brought it"
                                                        : escape_foreign(candidate.package);
    finding.fixes.push_back(candidate.label == "TileLang shim"
                                ? "TileLang 0.1.12 or later names it so that no rule takes it"
                                : "Upgrade or remove " + owner);
    out.push_back(std::move(finding));
  }
  return out;
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
    const auto reported = seen.snapshot.host.given_probe.find("app.reported");
    const bool seen_failing = reported != seen.snapshot.host.given_probe.end() &&
                              (reported->second == "400" || reported->second == "98");
    Finding finding = start_finding(
        "RT05", shared.empty() && !seen_failing ? Severity::warning : Severity::error,
        count_of(copies.size(), "runtime") + " of CUDA " + std::to_string(major) + " are mapped" +
            (shared.empty() ? "." : " under one soname, " + shared + "."));
    for (const Candidate* copy : copies) finding.evidence.push_back(described(*copy));
    if (!shared.empty()) {
      finding.evidence.push_back("Only load order decides which of them " + shared + " gives");
    }
    if (seen_failing) {
      finding.evidence.push_back("The application reported CUDA error " + reported->second);
    }
    finding.fixes.emplace_back("Make all users resolve to one file: one wheel or one toolkit");
    out.push_back(std::move(finding));
  }
  return out;
}

bool cudnn_frontend_mapped(const Snapshot& snapshot) {
  return std::any_of(snapshot.objects.begin(), snapshot.objects.end(), [](const auto& object) {
    const auto& uses = object.uses_rules;
    if (std::find(uses.begin(), uses.end(), "cudnn-fe") != uses.end()) return true;
    const ContentScan* content = object.content.get();
    if (content == nullptr || !object.executable) return false;
    return std::any_of(content->markers.begin(), content->markers.end(), [](const auto& marker) {
      return marker.find("Multiple libcudart libraries found") != std::string::npos;
    });
  });
}

/// The answer of cuDNN's front end in the vintage that is there: of the rows that count in full,
/// the first that refuses two majors.
const Selection* refusing_frontend(const Observations& seen) {
  if (!cudnn_frontend_mapped(seen.snapshot)) return nullptr;
  const auto found =
      std::find_if(seen.selections.begin(), seen.selections.end(), [](const Selection& selection) {
        return selection.policy.starts_with("cudnn-frontend") && counts_in_full(selection) &&
               selection.outcome == Outcome::multiple;
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
  Severity severity = mapped.size() > 1 ? Severity::warning : Severity::info;
  if (refusing != nullptr) severity = Severity::critical;
  std::vector<std::string> majors;
  for (const auto& [major, candidate] : mapped) majors.push_back(std::to_string(major));
  std::string headline =
      mapped.size() > 1
          ? "Runtimes of CUDA " + join(majors, " and ") + " are mapped in one process."
          : "CUDA " + majors.front() + " is mapped; a plain load would bring in another major.";
  Finding finding = start_finding("RT06", severity, std::move(headline));
  if (refusing != nullptr) {
    finding.effect = "cuDNN's front end refuses to start: " + refusing->error_text;
    finding.consumer = "cuDNN front end";
  } else if (mapped.size() < 2) {
    finding.effect = "none yet; a library of the other major would load a second runtime";
  }
  for (const auto& [major, candidate] : mapped) {
    finding.evidence.push_back("CUDA " + std::to_string(major) + ": " + described(*candidate));
  }
  for (const auto& [major, path] : reachable) {
    finding.evidence.push_back("Reachable, not mapped: CUDA " + std::to_string(major) + " at " +
                               escape_foreign(path));
  }
  finding.fixes.emplace_back("Install packages of one CUDA major only");
  if (refusing != nullptr) {
    finding.fixes.emplace_back(
        "cuDNN front end 1.25.0 or later; there CUDNN_FRONTEND_CUDART_LIB_NAME pins the runtime");
  }
  return {std::move(finding)};
}

/// RT11 for VLLM_CUDART_SO_PATH, the one override that a scanning consumer reads.
std::vector<Finding> judge_overrides(const Observations& seen) {
  constexpr std::string_view kVariable = "VLLM_CUDART_SO_PATH";
  const Environment* environment = seen.snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kVariable);
  if (value == nullptr) return {};
  const auto entry = seen.snapshot.disk.find(*value);
  const bool missing = entry != seen.snapshot.disk.end() && entry->second.kind == DiskKind::absent;
  bool vllm_possible = false;
  bool read = false;  // by any vintage of vLLM that counts
  for (const Selection& selection : seen.selections) {
    const Policy* policy = find_policy(selection.policy);
    if (policy == nullptr || policy->consumer != "vllm" || !counts_in_full(selection)) continue;
    vllm_possible = true;
    read = read || selection.chosen_text == *value;
  }
  if (read && !missing) return {};
  Finding finding = start_finding(
      "RT11", missing ? Severity::error : Severity::warning,
      std::string(kVariable) + (missing ? " names a missing file." : " is set, and not read."));
  finding.evidence.push_back(std::string(kVariable) + "=" + escape_foreign(*value));
  if (missing) finding.evidence.emplace_back("Nothing is at that path in the target's view");
  if (!vllm_possible) {
    finding.evidence.emplace_back("vLLM, the only one that reads it, is not in this process");
  } else if (!read) {
    finding.evidence.emplace_back(
        "vLLM reads it only when its scan finds nothing; here it finds "
        "a match");
  }
  finding.fixes.emplace_back(missing ? "Correct the path, or unset the variable"
                                     : "Unset it, or remove what the scan finds first");
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
  for (auto* const rule :
       {&judge_absence, &judge_look_alikes, &judge_duplicates, &judge_majors, &judge_overrides}) {
    for (Finding& finding : rule(seen)) out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace cudart_doctor
