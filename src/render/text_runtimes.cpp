// RUNTIMES and DRIVER of the text report: what is there and what each really is.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/phrases.hpp"
#include "render/provenance_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxNames = 3;  // Missing names, holders of static copies.

}  // namespace

Mark mark_of(RuntimeKind kind) {
  switch (kind) {
    case RuntimeKind::genuine: return {"REAL", Tone::good};
    case RuntimeKind::stub: return {"STUB", Tone::bad};
    case RuntimeKind::shim: return {"SHIM", Tone::bad};
    case RuntimeKind::stand_in: return {"FAKE", Tone::bad};
    case RuntimeKind::static_copy: return {"STATIC", Tone::plain};
    case RuntimeKind::not_a_runtime: return {"NAME", Tone::notice};
    case RuntimeKind::undetermined: return {"?", Tone::notice};
  }
  return {};
}

std::string hex(std::uint64_t value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (; value != 0; value >>= 4U) out.insert(out.begin(), kDigits[value & 0xFU]);
  return out.empty() ? "0" : out;
}

namespace {

/// "a, b, c and 4 more"
std::string enumerate(const std::vector<std::string>& items, std::size_t most) {
  std::vector<std::string> shown(
      items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), most)));
  std::string out = join(shown, ", ");
  if (items.size() > most) out += " and " + std::to_string(items.size() - most) + " more";
  return out;
}

std::string state_mark(const LoadedObject& object) {
  switch (object.state) {
    case FileState::deleted: return "DELETED: its file is gone";
    case FileState::replaced: return "REPLACED: another file is at the path now";
    case FileState::differs: return "the path leads to another file here";
    case FileState::absent: return "nothing is at the path now";
    case FileState::memory: return "no file: memory only";
    case FileState::unknown:
    case FileState::same: break;
  }
  return object.marked_deleted ? "marked deleted" : "";
}

std::string completeness(const Candidate& candidate) {
  if (candidate.kind == RuntimeKind::static_copy) return "";
  if (!candidate.exports_known) return "its symbols could not be read";
  if (candidate.exported == 0) return "exports no runtime name";
  std::string out;
  if (candidate.names_asked != 0) {
    const std::size_t missing =
        std::min<std::size_t>(candidate.missing.size(), candidate.names_asked);
    const std::string asked = std::to_string(candidate.names_asked);
    out = std::to_string(candidate.names_asked - missing) + "/" + asked + " names";
  } else if (candidate.missing.empty()) {
    out = "all names";
  }
  if (candidate.missing.empty()) return out;
  std::vector<std::string> names;
  for (const auto& name : candidate.missing) names.push_back(escape_foreign(name));
  return (out.empty() ? "" : out + "; ") + "lacks " + enumerate(names, kMaxNames);
}

}  // namespace

std::string candidate_details(const Report& report, std::size_t index, Detail detail) {
  const Candidate& candidate = report.candidates[index];
  const bool verbose = detail == Detail::full;
  std::vector<std::string> parts;
  const auto add = [&](std::string text) {
    if (!text.empty()) parts.push_back(std::move(text));
  };
  const LoadedObject* object = object_of(report, candidate.object);
  if (object != nullptr) add(state_mark(*object));
  if (object != nullptr && !candidate.loaded) add("mapped as data, not loaded");
  if (!candidate.label.empty()) add(printable(candidate.label));
  // What it lacks must not be cut away.
  const bool lacks = candidate.kind != RuntimeKind::not_a_runtime && !candidate.missing.empty() &&
                     candidate.exports_known;
  if (lacks) add(completeness(candidate));
  if (!candidate.version.empty()) {
    add(printable(candidate.version) + (verbose && !candidate.version_from.empty()
                                            ? " (" + printable(candidate.version_from) + ")"
                                            : ""));
  } else if (candidate.kind == RuntimeKind::genuine) {
    add("version unknown");
  }
  const std::string owner = owner_phrase(report.snapshot, candidate.path);
  add(printable(owner.empty() ? candidate.package : owner));
  if (candidate.kind != RuntimeKind::not_a_runtime && !lacks) add(completeness(candidate));
  if (candidate.soname_disagrees || candidate.vendored) {
    add("soname " + escape_foreign(candidate.soname));
  }
  for (std::string& phrase : provenance_phrases(report, index, verbose ? SIZE_MAX : 1)) {
    add(std::move(phrase));
  }
  if (parts.empty()) add("nothing further is known");
  return join(parts, "; ");
}

std::string static_copies_text(const Report& report, Detail detail) {
  std::vector<std::string> versions;
  std::vector<std::string> holders;
  for (const Candidate& candidate : report.candidates) {
    if (candidate.kind != RuntimeKind::static_copy) continue;
    const std::string version =
        candidate.version.empty() ? "version unknown" : printable(candidate.version);
    if (std::find(versions.begin(), versions.end(), version) == versions.end()) {
      versions.push_back(version);
    }
    holders.push_back(escape_foreign(base_name(candidate.path)));
  }
  if (holders.empty()) return {};
  std::sort(versions.begin(), versions.end());
  return count_of(holders.size(), "static copy", "static copies") + " (" +
         enumerate(versions, kMaxNames) + ") in " +
         enumerate(holders, detail == Detail::full ? holders.size() : kMaxNames) +
         ": private, not selectable";
}

namespace {

/// On disk, genuine and complete: one line is enough.
bool is_plain_file(const Candidate& candidate) {
  return !candidate.object && candidate.kind == RuntimeKind::genuine &&
         !candidate.version.empty() && candidate.version.size() <= 12 && candidate.exports_known &&
         candidate.missing.empty() && !candidate.soname_disagrees && !candidate.vendored;
}

void write_candidate(TextWriter& writer, const Report& report, std::size_t index,
                     const std::string& ref) {
  const Candidate& candidate = report.candidates[index];
  const LoadedObject* object = object_of(report, candidate.object);
  const Mark tag = mark_of(candidate.kind);
  const std::string where = object != nullptr ? pad(hex(object->lowest), 12) : "not mapped  ";
  const Lead lead{
      .before = " " + ref + " ",
      .word = std::string(tag.word),
      .tone = tag.tone,
      .after = pad("", 4 - std::min<std::size_t>(4, tag.word.size())) + "  " + where + "  "};
  if (is_plain_file(candidate) && !writer.verbose()) {
    writer.path_line(lead, escape_foreign(candidate.path), "  " + printable(candidate.version));
    return;
  }
  writer.path_line(lead, escape_foreign(candidate.path), "");
  if (writer.verbose() || writer.room().detail_lines != 0) {
    writer.labelled("", candidate_details(report, index, writer.detail()),
                    writer.room().detail_lines);
  }
  if (!writer.verbose()) return;
  if (object != nullptr) {
    for (const auto& path : object->paths) {
      if (path != candidate.path) writer.labelled("", "also " + escape_foreign(path));
    }
  }
  if (const std::string gap = owner_gap(report.snapshot, candidate.path); !gap.empty()) {
    writer.labelled("", "owner: " + printable(gap));
  }
  if (candidate.build_id) writer.labelled("", "build-id " + escape_foreign(*candidate.build_id));
  const Provenance& provenance = provenance_of(report, index);
  if (object != nullptr && !provenance.arrival_note.empty() &&
      provenance.arrival != Arrival::preload) {
    writer.labelled("", "arrival: " + printable(provenance.arrival_note));
  }
  for (const auto& sign : candidate.evidence) writer.labelled("", "- " + printable(sign));
}

void write_static_copies(TextWriter& writer, const Report& report) {
  const std::string text = static_copies_text(report, writer.detail());
  if (!text.empty()) writer.entry({.before = " ", .hang = 3}, text);
}

void write_none_found(TextWriter& writer, const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  std::vector<std::string> places = {count_of(snapshot.capture.objects_read, "mapped object") +
                                     " by contents"};
  if (const std::size_t count = snapshot.python.site_directories.size(); count != 0) {
    places.push_back(count_of(count, "Python directory", "Python directories"));
  }
  if (snapshot.loader.cache.is_known()) places.push_back("the loader's cache");
  writer.labelled("RUNTIMES", "none; searched: " + join(places, ", "));
}

std::string_view companion_word(CompanionKind kind) {
  switch (kind) {
    case CompanionKind::driver:
    case CompanionKind::nvrtc:
    case CompanionKind::nvml: return "genuine";
    case CompanionKind::driver_compat: return "genuine, forward compatibility package";
    case CompanionKind::driver_stub:
    case CompanionKind::nvrtc_stub:
    case CompanionKind::nvml_stub: return "STUB: the toolkit's, for linking only";
    case CompanionKind::driver_shim: return "SHIM: a part of the API only";
    case CompanionKind::nvrtc_shim: return "SHIM: forwards to a real one";
    case CompanionKind::driver_broken: return "BROKEN: only the name of a driver";
    case CompanionKind::undetermined: return "kind unknown";
  }
  return {};
}

bool is_genuine(CompanionKind kind) {
  return kind == CompanionKind::driver || kind == CompanionKind::nvrtc ||
         kind == CompanionKind::nvml || kind == CompanionKind::driver_compat;
}

bool is_driver(CompanionKind kind) {
  return kind == CompanionKind::driver || kind == CompanionKind::driver_compat ||
         kind == CompanionKind::driver_stub || kind == CompanionKind::driver_shim ||
         kind == CompanionKind::driver_broken;
}

/// Whose a driver is, where that is news: a genuine one is most often mounted into a container.
std::string companion_owner(const Snapshot& snapshot, const Companion& companion, Detail detail) {
  const bool odd = !is_genuine(companion.kind) || companion.kind == CompanionKind::driver_compat;
  if (detail == Detail::brief && !(odd && companion.loaded)) return {};
  const std::string phrase = printable(owner_phrase(snapshot, companion.path));
  return phrase.empty() ? phrase : "; " + phrase;
}

std::string companion_text(const Companion& companion) {
  const std::string version = printable(companion.version);
  std::string out = escape_foreign(base_name(companion.path));
  if (!version.empty() && out.find(version) == std::string::npos) out += " " + version;
  out.append(", ").append(companion_word(companion.kind));
  if (!companion.loaded) out += companion.object ? ", mapped as data" : ", on disk, not mapped";
  return out;
}

/// The driver that only the probe's children loaded: the process has none mapped, or another one.
void add_probed_driver(std::vector<std::string>& lines, const Report& report) {
  const auto& driver = report.snapshot.probe.driver;
  if (!driver || driver->path.empty()) return;
  const bool listed = std::any_of(
      report.companions.begin(), report.companions.end(), [&](const Companion& companion) {
        const LoadedObject* object = object_of(report, companion.object);
        const bool same_file =
            object != nullptr && driver->key.is_file() && object->key == driver->key;
        const auto found = report.snapshot.disk.find(companion.path);
        const bool same_on_disk = found != report.snapshot.disk.end() && driver->key.is_file() &&
                                  found->second.key == driver->key;
        return companion.path == driver->path || same_file || same_on_disk;
      });
  if (listed) return;
  constexpr int kMajor = 1000;
  constexpr int kMinor = 10;
  std::string text = escape_foreign(base_name(driver->path));
  if (driver->version > 0) {
    text += " for CUDA " + std::to_string(driver->version / kMajor) + "." +
            std::to_string(driver->version % kMajor / kMinor);
  }
  lines.push_back(text + ", loaded by the probe, not mapped here");
}

/// Mapped runtimes, at most `most`: what a rule takes, what lost its file, look-alikes, the rest.
std::set<std::size_t> kept_mapped(const Report& report, std::size_t most) {
  std::vector<std::size_t> wanted;
  const auto want = [&](std::optional<std::size_t> index) {
    if (index && report.candidates[*index].object) wanted.push_back(*index);
  };
  if (const Selection* headline = headline_selection(report); headline != nullptr) {
    want(candidate_of(report, *headline));
  }
  for (const Selection* selection : telling_selections(report, 0)) {
    want(candidate_of(report, *selection));
  }
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const LoadedObject* object = object_of(report, report.candidates[i].object);
    const FileState state = object == nullptr ? FileState::same : object->state;
    if (state == FileState::deleted || state == FileState::replaced) want(i);
  }
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    if (report.candidates[i].kind != RuntimeKind::genuine) want(i);
  }
  for (std::size_t i = 0; i < report.candidates.size(); ++i) want(i);
  std::set<std::size_t> kept;
  for (const std::size_t index : wanted) {
    const bool shown = report.candidates[index].kind != RuntimeKind::static_copy;
    if (shown && kept.size() < most) kept.insert(index);
  }
  return kept;
}

}  // namespace

std::vector<std::string> companion_lines(const Report& report, Detail detail) {
  std::vector<std::string> lines;
  std::optional<std::size_t> first_driver;
  const auto& probed = report.snapshot.probe.driver;
  if (report.driver_absent && !(probed && !probed->path.empty())) {
    first_driver = 0;
    lines.emplace_back("none found where the loader looks for libcuda.so.1");
  }
  for (const Companion& companion : report.companions) {
    // A genuine NVRTC or NVML is no news; nor is a driver that another one beats.
    const bool telling = companion.loaded ? is_driver(companion.kind) || !is_genuine(companion.kind)
                                          : is_driver(companion.kind);
    if (!telling && detail == Detail::brief) continue;
    if (is_driver(companion.kind) && !first_driver) first_driver = lines.size();
    lines.push_back(companion_text(companion) +
                    companion_owner(report.snapshot, companion, detail));
  }
  add_probed_driver(lines, report);
  if (const auto* module = report.snapshot.host.kernel_module.get()) {
    const std::string text = "kernel module " + escape_foreign(*module);
    if (first_driver) {
      lines[*first_driver] += "; " + text;
    } else {
      lines.push_back(text);
    }
  }
  return lines;
}

void write_runtimes(TextWriter& writer, const Report& report) {
  const bool order_matters =
      std::any_of(report.findings.begin(), report.findings.end(),
                  [](const Finding& finding) { return finding.id == "RT07"; });
  if (report.candidates.empty()) {
    write_none_found(writer, report);
    return;
  }
  writer.title(order_matters ? "RUNTIMES in address order; another start may differ (RT07)"
                             : "RUNTIMES in address order");
  const auto refs = candidate_refs(report);
  auto kept = kept_mapped(report, writer.shown(Room::kAll, writer.room().mapped));
  // A letter further down tells nothing without its row.
  for (const Selection* selection : answers_in(report, writer.room())) {
    if (const auto taken = candidate_of(report, *selection)) kept.insert(*taken);
  }
  std::size_t installed = 0;
  std::size_t shown_installed = 0;
  std::size_t hidden = 0;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    const bool is_static = candidate.kind == RuntimeKind::static_copy;
    if (is_static && !writer.verbose()) continue;
    if (candidate.object && !writer.verbose() && !kept.contains(i)) {
      ++hidden;
      continue;
    }
    if (!candidate.object) {
      ++installed;
      const bool wanted = shown_installed < writer.room().installed || kept.contains(i);
      if (!wanted && !writer.verbose()) continue;
      ++shown_installed;
    }
    write_candidate(writer, report, i, refs[i]);
  }
  if (hidden != 0) {
    writer.entry({.before = " ", .hang = 3}, std::to_string(hidden) + " more mapped: -v");
  }
  if (shown_installed < installed) {
    writer.entry({.before = " ", .hang = 3},
                 std::to_string(installed - shown_installed) +
                     (shown_installed == 0 ? " installed, not mapped: -v"
                                           : " more installed, not mapped: -v"));
  }
  write_static_copies(writer, report);
}

void write_companions(TextWriter& writer, const Report& report) {
  const auto lines = companion_lines(report, writer.detail());
  const std::size_t shown = writer.shown(lines.size(), writer.room().companions);
  const std::size_t left_out = lines.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == shown && left_out > 0;
    const std::string more = last ? "; " + std::to_string(left_out) + " more: -v" : "";
    writer.labelled(i == 0 ? "DRIVER" : "", lines[i] + more, 2);
  }
  if (shown == 0) write_left_out(writer, "DRIVER", {.all = lines.size(), .shown = 0});
}

}  // namespace cudart_doctor
