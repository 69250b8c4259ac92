// UNSEEN and READ: what this look could not see, and what it did.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

/// "3 objects could not be read: FIRST (2 more with -v)", or one line each when verbose.
void add_group(std::vector<std::string>& lines, const TextWriter& writer, std::string_view what,
               const std::vector<std::string>& items) {
  if (items.empty()) return;
  if (writer.verbose()) {
    for (const auto& item : items) lines.push_back(std::string(what) + ": " + printable(item));
    return;
  }
  const std::string count =
      items.size() == 1 ? "" : " (1 of " + std::to_string(items.size()) + ", -v for all)";
  lines.push_back(std::string(what) + count + ": " + printable(items.front()));
}

template <typename T>
void add_unknown(std::vector<std::string>& lines, std::string_view what, const Fact<T>& fact) {
  if (fact.is_known()) return;
  lines.push_back(std::string(what) + ": " + printable(fact.reason()));
}

std::vector<std::string> unread_paths(const Snapshot& snapshot) {
  std::vector<std::string> items;
  for (const auto& [path, entry] : snapshot.disk) {
    if (entry.kind != DiskKind::unreadable) continue;
    items.push_back(escape_foreign(path) +
                    (entry.note.empty() ? "" : ": " + printable(entry.note)));
  }
  return items;
}

void add_maps(std::vector<std::string>& lines, const Snapshot& snapshot) {
  if (!snapshot.capture.maps_consistent) {
    lines.push_back("mappings kept changing during " +
                    count_of(snapshot.capture.maps_reads, "look") + "; run again");
  }
  if (snapshot.maps.odd_lines != 0) {
    lines.push_back(count_of(snapshot.maps.odd_lines, "line") + " of maps not understood: " +
                    escape_foreign(snapshot.maps.first_odd_line));
  }
  if (snapshot.maps.truncated) lines.push_back("maps ended in the middle of a line");
}

std::vector<std::string> unseen(const TextWriter& writer, const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  std::vector<std::string> lines;
  if (!report.verdict.undecided.empty() && report.verdict.exit_code != 3) {
    lines.push_back(printable(report.verdict.undecided));
  }
  add_group(lines, writer, "unread object", snapshot.capture.unread);
  add_unknown(lines, "environment", snapshot.environment);
  add_unknown(lines, "load order (link map)", snapshot.link_map);
  if (const auto* namespaces = snapshot.link_map.get()) {
    for (const LinkNamespace& space : *namespaces) {
      if (!space.note.empty()) lines.push_back("load order: " + printable(space.note));
    }
  }
  add_unknown(lines, "command line", snapshot.process.command_line);
  add_unknown(lines, "executable", snapshot.process.executable);
  add_unknown(lines, "loader's cache", snapshot.loader.cache);
  add_group(lines, writer, "Python directory", snapshot.python.unread_directories);
  add_group(lines, writer, "path on disk", unread_paths(snapshot));
  add_maps(lines, snapshot);
  if (snapshot.capture.static_skipped != 0) {
    lines.push_back("static runtimes in " +
                    count_of(snapshot.capture.static_skipped, "other object") +
                    ": not searched (--deep)");
  }
  for (const auto& note : snapshot.capture.notes) lines.push_back(printable(note));
  return lines;
}

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

void write_unseen(TextWriter& writer, const Report& report) {
  const auto lines = unseen(writer, report);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    writer.labelled(i == 0 ? "UNSEEN" : "", lines[i], 2);
  }
}

void write_read(TextWriter& writer, const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  const std::size_t other = std::min<std::size_t>(snapshot.capture.not_elf,
                                                  snapshot.objects.size());
  std::string text = std::to_string(snapshot.capture.objects_read) + " of " +
                     count_of(snapshot.objects.size() - other, "object");
  if (other != 0) text += " (" + count_of(other, "mapped file is", "mapped files are") + " no ELF)";
  text += "; " + environment_text(snapshot);
  if (!snapshot.capture.taken_at.empty()) text += "; " + printable(snapshot.capture.taken_at);
  writer.labelled("READ", text);
}

}  // namespace cudart_doctor
