// UNSEEN and READ: what this look could not see, and what it did.
#include <algorithm>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/phrases.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

/// "3 objects unread; the first: PATH: REASON", or all of them when verbose.
void add_group(std::vector<std::string>& lines, Detail detail, const std::string& what,
               const std::vector<std::string>& items) {
  if (items.empty()) return;
  if (items.size() == 1) {
    lines.push_back(what + ": " + printable(items.front()));
    return;
  }
  if (detail == Detail::brief) {
    lines.push_back(what + "; the first: " + printable(items.front()));
    return;
  }
  lines.push_back(what + ":");
  for (const auto& item : items) lines.push_back(printable(item));
}

/// Facts that the target would not tell, gathered by reason: most often all share one.
class UnknownFacts {
 public:
  template <typename T>
  void add(std::string_view what, const Fact<T>& fact) {
    if (fact.is_known()) return;
    const std::string reason = printable(fact.reason());
    for (auto& [known_reason, names] : groups_) {
      if (known_reason != reason) continue;
      names.append(", ").append(what);
      return;
    }
    groups_.emplace_back(reason, what);
  }

  void add_to(std::vector<std::string>& lines) const {
    for (const auto& [reason, names] : groups_) lines.push_back(names + ": " + reason);
  }

 private:
  std::vector<std::pair<std::string, std::string>> groups_;
};

std::vector<std::string> unread_paths(const Snapshot& snapshot) {
  std::vector<std::string> items;
  for (const auto& [path, entry] : snapshot.disk) {
    if (entry.kind != DiskKind::unreadable) continue;
    items.push_back(escape_foreign(path) +
                    (entry.note.empty() ? "" : ": " + printable(entry.note)));
  }
  return items;
}

/// A server's ranks are processes of their own: that one of them is ill does not show here.
void add_children(std::vector<std::string>& lines, const Snapshot& snapshot) {
  const std::uint32_t children = unseen_children(snapshot);
  if (children == 0) return;
  lines.push_back(count_of(children, "process", "processes") +
                  " that it started: cudart-doctor tree --pid " +
                  std::to_string(snapshot.process.pid));
}

void add_maps(std::vector<std::string>& lines, const Snapshot& snapshot) {
  if (!snapshot.capture.maps_consistent) {
    lines.push_back("mappings kept changing during " +
                    count_of(snapshot.capture.maps_reads, "look") + "; run again");
  }
  if (snapshot.maps.odd_lines != 0) {
    lines.push_back(count_of(snapshot.maps.odd_lines, "line") +
                    " of maps not understood: " + escape_foreign(snapshot.maps.first_odd_line));
  }
  if (snapshot.maps.truncated) lines.push_back("maps ended in the middle of a line");
}

}  // namespace

std::vector<std::string> unseen(const Report& report, Detail detail) {
  const Snapshot& snapshot = report.snapshot;
  std::vector<std::string> lines;
  if (const auto* recording = snapshot.recording.get()) lines = run_limits(*recording);
  if (nobody_judged(snapshot)) return lines;
  if (!report.verdict.undecided.empty() && report.verdict.end != RunEnd::undecided) {
    lines.push_back(printable(report.verdict.undecided));
  }
  add_children(lines, snapshot);
  add_group(lines, detail, count_of(snapshot.capture.unread.size(), "object") + " unread",
            snapshot.capture.unread);
  UnknownFacts unknown;
  unknown.add("environment", snapshot.environment);
  unknown.add("load order", snapshot.link_map);
  unknown.add("command line", snapshot.process.command_line);
  unknown.add("executable", snapshot.process.executable);
  unknown.add("loader's cache", snapshot.loader.cache);
  unknown.add_to(lines);
  if (const auto* namespaces = snapshot.link_map.get()) {
    for (const LinkNamespace& space : *namespaces) {
      if (!space.note.empty()) lines.push_back("load order: " + printable(space.note));
    }
  }
  const auto& directories = snapshot.python.unread_directories;
  add_group(lines, detail,
            count_of(directories.size(), "Python directory", "Python directories") + " unread",
            directories);
  const auto paths = unread_paths(snapshot);
  add_group(lines, detail, count_of(paths.size(), "path") + " on disk unread", paths);
  add_maps(lines, snapshot);
  if (snapshot.capture.static_skipped != 0) {
    lines.push_back("static runtimes in " +
                    count_of(snapshot.capture.static_skipped, "other object") +
                    ": not searched (--deep)");
  }
  for (const auto& note : snapshot.capture.notes) lines.push_back(printable(note));
  return lines;
}

namespace {

std::string environment_text(const Snapshot& snapshot) {
  const Environment* environment = snapshot.environment.get();
  if (environment == nullptr) return "environment unknown";
  std::string out;
  switch (environment->origin) {
    case EnvironmentOrigin::at_exec: out = "environment as of exec"; break;
    case EnvironmentOrigin::live_memory: out = "environment from the process's memory"; break;
    case EnvironmentOrigin::fixture: out = "environment as given"; break;
  }
  return environment->note.empty() ? out : out + " (" + printable(environment->note) + ")";
}

}  // namespace

std::string read_text(const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  if (nobody_judged(snapshot)) return "the recording alone";
  const std::size_t other =
      std::min<std::size_t>(snapshot.capture.not_elf, snapshot.objects.size());
  std::string text = std::to_string(snapshot.capture.objects_read) + " of " +
                     count_of(snapshot.objects.size() - other, "object");
  if (other != 0) text += " (" + count_of(other, "mapped file is", "mapped files are") + " no ELF)";
  text += "; " + environment_text(snapshot);
  if (!snapshot.capture.taken_at.empty()) text += "; " + printable(snapshot.capture.taken_at);
  return text;
}

void write_unseen(TextWriter& writer, const Report& report) {
  const auto lines = unseen(report, writer.detail());
  const std::size_t shown = writer.shown(lines.size(), writer.room().unseen);
  for (std::size_t i = 0; i < shown; ++i) {
    writer.labelled(i == 0 ? "UNSEEN" : "", lines[i], 2);
  }
  write_left_out(writer, "UNSEEN", {.all = lines.size(), .shown = shown});
}

void write_read(TextWriter& writer, const Report& report) {
  writer.labelled("READ", read_text(report));
}

}  // namespace cudart_doctor
