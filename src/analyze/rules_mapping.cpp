// MP01-MP08: what the mappings say about files that went, changed or cannot be trusted by name.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/base/text.hpp"
#include "rule_phrases.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kWord = "libcudart";

std::string key_text(const FileKey& key) {
  return "device " + shown_address(key.dev_major) + ":" + shown_address(key.dev_minor) + " inode " +
         std::to_string(key.inode);
}

/// Objects that the mapping rules speak of: candidates, companions, and what has a CUDA name.
std::vector<std::size_t> objects_of_interest(const Observations& seen) {
  std::set<std::size_t> out;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.object) out.insert(*candidate.object);
  }
  for (const Companion& companion : seen.companions) {
    if (companion.object) out.insert(*companion.object);
  }
  for (std::size_t i = 0; i < seen.snapshot.objects.size(); ++i) {
    if (is_cuda_name(seen.snapshot.objects[i].path())) out.insert(i);
  }
  return {out.begin(), out.end()};
}

/// The scanning rows that count in full and whose answer is one object, by what their opening
/// gives.
struct Takers {
  Rows harmed;  ///< It fails, maps the new file, or cannot be told.
  Rows served;  ///< It gives the loaded library: the loader knows that by the very name.
};

Takers takers_of(const Observations& seen, std::size_t object) {
  Takers out;
  for (const Selection* row : scanning_rows(seen)) {
    const bool takes = row->outcome == Outcome::selected && row->object == object;
    if (!takes || !counts_in_full(*row)) continue;
    const bool old = row->open == OpenOutcome::old_object;
    (old ? out.served : out.harmed).push_back(row);
  }
  out.harmed = leading_rows(out.harmed);
  out.served = leading_rows(out.served);
  return out;
}

std::string harm_of(const Selection& row) {
  switch (row.open) {
    case OpenOutcome::fails: return "would open its path and fail";
    case OpenOutcome::new_object:
    case OpenOutcome::loads: return "would open its path and map the new file as a second library";
    case OpenOutcome::unknown: return "would open its path: what that gives could not be told";
    case OpenOutcome::not_asked:
    case OpenOutcome::old_object: break;
  }
  return "would open its path";
}

std::string build_id_text(const LoadedObject& object) {
  const ElfFacts* elf = object.elf.get();
  return elf != nullptr && elf->build_id ? ", build-id " + short_build_id(*elf->build_id)
                                         : std::string();
}

/// `by_path`: what opening the library's own path, without the mark, gives in the target.
std::string effect_of_opening(const LoadedObject& object, OpenOutcome by_path) {
  const bool deleted = object.state == FileState::deleted;
  if (by_path == OpenOutcome::old_object) {
    return deleted ? "what is loaded runs on, also for who opens this very path; by another path "
                     "(a link to it) opening fails"
                   : "what is loaded runs on, also for who opens this very path; another path (a "
                     "link to it) gives the new file as a second library";
  }
  const std::string may = by_path == OpenOutcome::unknown ? "may " : "";
  const std::string end = may.empty() ? "s" : "";
  return deleted
             ? "what is loaded runs on; whoever opens the library by its path " + may + "fail" + end
             : "what is loaded runs on; whoever opens the path " + may + "get" + end +
                   " the new file as a second library";
}

std::vector<Finding> judge_lost_files(const Observations& seen) {
  std::vector<Finding> out;
  for (const std::size_t index : objects_of_interest(seen)) {
    const LoadedObject& object = seen.snapshot.objects[index];
    const bool deleted = object.state == FileState::deleted;
    if (!deleted && object.state != FileState::replaced) continue;
    const Takers takers = takers_of(seen, index);
    Severity severity = deleted ? Severity::warning : Severity::error;
    if (!takers.harmed.empty()) severity = Severity::critical;
    // Under the name that it was loaded by, the loader gives the loaded library and looks at no
    // file.
    const OpenOutcome by_path = open_path(seen.snapshot, cut_deleted_mark(object.path())).open;
    Finding finding = start_finding(
        deleted ? "MP01" : "MP02", severity,
        "The file of the loaded " + escape_foreign(base_name(object.path())) + " was " +
            (deleted ? "deleted" : "replaced by another") + " under the running process.");
    finding.effect = effect_of_opening(object, by_path);
    if (!takers.harmed.empty()) {
      const Selection& first = *takers.harmed.front();
      finding.consumer = consumer_phrase(first);
      finding.policy = first.policy;
      if (!first.error_text.empty()) {
        finding.effect = "what is loaded runs on; " + failure_effect_of(takers.harmed);
      }
      finding.evidence.push_back(sentence_about(
          takers.harmed,
          harm_of(first) + (first.error_text.empty() ? "" : ": " + first.error_text)));
    }
    if (!takers.served.empty()) {
      finding.evidence.push_back(sentence_about(
          takers.served,
          "gets the loaded library: the loader knows it by the name that is opened"));
    }
    finding.evidence.push_back("Mapped: " + escape_foreign(object.path()) + ", " +
                               key_text(object.key) + build_id_text(object));
    if (object.path_now) {
      finding.evidence.push_back("At the path now: " + key_text(*object.path_now) +
                                 (object.path_now_build_id
                                      ? ", build-id " + short_build_id(*object.path_now_build_id)
                                      : ""));
    }
    const std::string owner = owner_sentence(seen.snapshot, object.path());
    if (!owner.empty()) finding.evidence.push_back(owner);
    finding.fixes = lost_file_remedies(seen, index);
    if (deleted || by_path == OpenOutcome::old_object) {
      finding.no_help = futile_overrides(takers.harmed);
    } else {
      finding.no_help = {
          "Opening the path without \" (deleted)\": maps the new file beside the old"};
    }
    out.push_back(std::move(finding));
  }
  return out;
}

std::vector<Finding> judge_memory_files(const Observations& seen) {
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (!candidate.loaded || candidate.kind != RuntimeKind::genuine) continue;
    const LoadedObject& object = seen.snapshot.objects[*candidate.object];
    if (object.state != FileState::memory) continue;
    Finding finding = start_finding("MP03", Severity::warning,
                                    "A CUDA runtime was loaded from memory, not from a file.");
    finding.effect = "consumers that open the runtime by its path cannot open it";
    finding.evidence.push_back(escape_foreign(object.path()) +
                               (candidate.version.empty() ? "" : ", version " + candidate.version) +
                               build_id_text(object));
    finding.fixes = {"Load the runtime from a file"};
    out.push_back(std::move(finding));
  }
  return out;
}

/// "map_files (120), its root (3)": how the libraries were reached.
std::string routes_taken(const Snapshot& snapshot) {
  constexpr std::array<std::pair<ReadRoute, std::string_view>, 3> kRoutes{
      {{ReadRoute::map_files, "map_files"},
       {ReadRoute::root_path, "its root"},
       {ReadRoute::memory, "their image in memory"}}};
  std::vector<std::string> out;
  for (const auto& [route, name] : kRoutes) {
    const auto count = std::count_if(
        snapshot.objects.begin(), snapshot.objects.end(),
        [wanted = route](const LoadedObject& object) { return object.route == wanted; });
    if (count > 0) out.push_back(std::string(name) + " (" + std::to_string(count) + ")");
  }
  return join(out, ", ");
}

std::vector<Finding> judge_namespace(const Observations& seen) {
  const auto& theirs = seen.snapshot.process.namespaces;
  const auto& ours = seen.snapshot.process.own_namespaces;
  const auto their = theirs.find("mnt");
  const auto our = ours.find("mnt");
  if (their == theirs.end() || our == ours.end() || their->second == our->second) return {};
  std::vector<std::string> unread;
  for (const std::size_t index : objects_of_interest(seen)) {
    const LoadedObject& object = seen.snapshot.objects[index];
    if (object.elf.is_unknown()) {
      unread.push_back(escape_foreign(object.path()) + ": " + object.elf.reason());
    }
  }
  Finding finding = start_finding(
      "MP04", unread.empty() ? Severity::info : Severity::error,
      unread.empty() ? "The process is in another mount namespace; its paths are not this side's."
                     : "A CUDA library in another mount namespace could not be read.");
  finding.evidence.push_back("Mount namespace " + std::to_string(their->second) +
                             ", the doctor's " + std::to_string(our->second));
  finding.evidence.insert(finding.evidence.end(), unread.begin(), unread.end());
  const std::string routes = routes_taken(seen.snapshot);
  if (!routes.empty()) finding.evidence.push_back("Libraries read by " + routes);
  if (unread.empty()) {
    finding.fixes = {"None needed: open its paths below /proc/" +
                     std::to_string(seen.snapshot.process.pid) + "/root"};
  } else {
    finding.fixes = {"Run the doctor as root with CAP_SYS_PTRACE, or inside the container"};
  }
  return {std::move(finding)};
}

std::vector<Finding> judge_identity(const Observations& seen) {
  std::vector<Finding> out;
  for (const std::size_t index : objects_of_interest(seen)) {
    const LoadedObject& object = seen.snapshot.objects[index];
    if (object.state != FileState::differs || !object.path_now) continue;
    const ElfFacts* elf = object.elf.get();
    const bool other_inode = object.path_now->inode != object.key.inode;
    const bool both_known = elf != nullptr && elf->build_id && object.path_now_build_id;
    // Without both build-ids nothing proves that the contents differ.
    const bool other_build = both_known && *elf->build_id != *object.path_now_build_id;
    Finding finding = start_finding(
        "MP05", other_inode && other_build ? Severity::error : Severity::info,
        "The path of " + escape_foreign(base_name(object.path())) +
            (other_inode && other_build ? " leads to another file than the one loaded."
                                        : " has another device or inode than the mapping."));
    finding.evidence.push_back("Mapped: " + escape_foreign(object.path()) + ", " +
                               key_text(object.key) + build_id_text(object));
    finding.evidence.push_back("At the path: " + key_text(*object.path_now) +
                               (object.path_now_build_id
                                    ? ", build-id " + short_build_id(*object.path_now_build_id)
                                    : ""));
    if (!other_inode || !other_build) {
      finding.effect = "none known: overlay file systems number one file in two ways";
    }
    finding.fixes = {"Compare what is mounted at the path in the target with what it started with"};
    out.push_back(std::move(finding));
  }
  return out;
}

/// A group of maps lines that contain the word without being a library of that name.
struct NameOnly {
  std::string path;
  std::string why;
  std::uint64_t address = 0;
  bool first = false;  ///< No line with the word lies below it: the old scan stops here.
  bool in_directory = false;
};

/// The directory of `path` that holds the word, printable.
std::string directory_with_word(std::string_view path) {
  for (const std::string_view part : split(path, '/')) {
    if (part.find(kWord) != std::string_view::npos) return escape_foreign(part);
  }
  return {};
}

std::vector<NameOnly> name_only_lines(const Snapshot& snapshot) {
  std::vector<NameOnly> out;
  std::set<std::string> known;
  bool first = true;
  for (const PythonLine& line : python_lines_with(snapshot.maps, kWord)) {
    const Mapping& mapping = snapshot.maps.rows[line.row];
    const bool is_first = std::exchange(first, false);
    const std::string path(snapshot.maps.path(mapping));
    const auto object = std::find_if(snapshot.objects.begin(), snapshot.objects.end(),
                                     [&](const LoadedObject& o) { return o.key == mapping.file; });
    const bool in_name = base_name(path).find(kWord) != std::string_view::npos;
    std::string why;
    if (path.find('/') == std::string::npos) {
      why = "a pseudo entry, no file";
    } else if (!in_name) {
      why = "the word is in the directory name " + directory_with_word(path);
    } else if (object == snapshot.objects.end() || !object->executable) {
      why = "mapped as data only, not loaded";
    } else {
      continue;
    }
    if (known.insert(path).second) out.push_back({path, why, mapping.lo, is_first, !in_name});
  }
  return out;
}

/// Rules that take the first line with the word anywhere, and so stop at such a line.
Rows rows_that_stop(const Observations& seen) {
  Rows out;
  for (const Selection* row : scanning_rows(seen)) {
    const bool first_line = row->policy.find("-legacy") != std::string::npos;
    if (first_line && counts_in_full(*row)) out.push_back(row);
  }
  return leading_rows(out);
}

std::vector<Finding> judge_names(const Observations& seen) {
  const auto lines = name_only_lines(seen.snapshot);
  if (lines.empty()) return {};
  const Rows stopped = lines.front().first ? rows_that_stop(seen) : Rows{};
  const NameOnly& first = lines.front();
  Finding finding = start_finding(
      "MP06", stopped.empty() ? Severity::info : Severity::critical,
      stopped.empty()
          ? "A path contains the word libcudart without being a loaded library of that name."
          : sentence_about(stopped, "would stop at " + escape_foreign(base_name(first.path)) +
                                        ", which has libcudart only in its path"));
  if (stopped.empty()) {
    finding.effect = "none here: no rule that is in use stops at it";
    finding.fixes = {"None needed"};
  } else {
    const Selection& row = *stopped.front();
    finding.consumer = consumer_phrase(row);
    finding.policy = row.policy;
    const bool runtime_loaded = !distinct_runtimes(seen.snapshot, seen.candidates).empty();
    finding.effect = row.works()      ? "it opens a file that is not the loaded runtime"
                     : runtime_loaded ? "it fails before it looks at the real runtime"
                                      : "it fails there; no runtime is loaded that it could take";
    append(finding.evidence, answer_sentences(stopped));
    const std::string releases = helpful_releases(
        seen, stopped, [](const Observations&, const Selection& other) { return other.works(); });
    if (!releases.empty()) finding.fixes.push_back(releases);
    const std::string_view or_else = finding.fixes.empty() ? "" : "Or ";
    std::string remedy = first.in_directory
                             ? "install it in a directory without libcudart in its name"
                             : "keep " + escape_foreign(first.path) + " out of the process";
    if (or_else.empty()) remedy.front() = first.in_directory ? 'I' : 'K';
    finding.fixes.push_back(std::string(or_else) + remedy);
    finding.no_help = futile_overrides(stopped);
  }
  for (const NameOnly& line : lines) {
    finding.evidence.push_back(shown_address(line.address) + " " + escape_foreign(line.path) +
                               ": " + line.why);
  }
  return {std::move(finding)};
}

std::vector<Finding> judge_paths(const Observations& seen) {
  std::vector<std::string> evidence;
  for (const std::size_t index : objects_of_interest(seen)) {
    const LoadedObject& object = seen.snapshot.objects[index];
    const std::string& path = object.path();
    if (path.empty() || object.state == FileState::memory) continue;
    if (path.find(' ') != std::string::npos) {
      evidence.push_back("Tools that split at blanks see " +
                         escape_foreign(std::string_view(path).substr(0, path.find(' '))) + " of " +
                         escape_foreign(path));
    } else if (path.find('\\') != std::string::npos) {
      evidence.push_back("maps does not tell a backslash from an escape: " + escape_foreign(path));
    } else if (escape_foreign(path) != path) {
      evidence.push_back("Holds control characters or bytes that are no UTF-8: " +
                         escape_foreign(path));
    } else {
      continue;
    }
    if (path.ends_with(" (deleted)")) {
      evidence.push_back("The file is really called so, and is not deleted: " +
                         escape_foreign(path));
    }
  }
  if (evidence.empty()) return {};
  Finding finding = start_finding("MP07", Severity::info,
                                  "A CUDA library's path is one that simple tools misread.");
  finding.evidence = std::move(evidence);
  finding.fixes = {"None needed for the consumers in the table"};
  return {std::move(finding)};
}

std::vector<Finding> judge_maps(const Observations& seen) {
  const MapsTable& maps = seen.snapshot.maps;
  const CaptureFacts& capture = seen.snapshot.capture;
  std::vector<std::string> evidence;
  if (maps.odd_lines > 0) {
    evidence.push_back(count_of(maps.odd_lines, "line is", "lines are") +
                       " no maps line; the first: " + escape_foreign(maps.first_odd_line));
  }
  if (maps.truncated) evidence.emplace_back("The text ends in the middle of a line");
  if (!capture.maps_consistent) {
    evidence.push_back("It did not hold still over " + count_of(capture.maps_reads, "read"));
  }
  const bool empty = maps.rows.empty();
  if (empty) evidence.emplace_back("No line could be used");
  if (evidence.empty()) return {};
  Finding finding = start_finding("MP08", empty ? Severity::error : Severity::warning,
                                  "The list of mappings is incomplete.");
  finding.evidence = std::move(evidence);
  finding.fixes = {"Run the doctor again when the process is at rest"};
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_mappings(const Observations& seen) {
  std::vector<Finding> out;
  for (auto* const rule : {&judge_lost_files, &judge_memory_files, &judge_namespace,
                           &judge_identity, &judge_names, &judge_paths, &judge_maps}) {
    append_findings(out, rule(seen));
  }
  return out;
}

}  // namespace cudart_doctor
