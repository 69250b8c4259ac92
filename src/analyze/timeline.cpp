#include "cudart_doctor/analyze/timeline.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "cudart_doctor/base/text.hpp"
#include "timeline_story.hpp"

namespace cudart_doctor {
namespace {

std::optional<std::size_t> judged_process(const Recording& recording) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    const RecordedProcess& process = recording.processes[i];
    if (recording.judged_pid == 0 || process.pid != recording.judged_pid) continue;
    // One PID runs one program after the other; the last that was judged counts.
    const bool better = !found || process.judged != JudgeMoment::none ||
                        recording.processes[*found].judged == JudgeMoment::none;
    if (better) found = i;
  }
  return found;
}

/// Events of a process: those of its PID from its begin to that of the next program in it.
struct Span {
  std::int64_t pid = 0;
  std::int64_t from = 0;
  std::int64_t to = INT64_MAX;
  [[nodiscard]] bool holds(const LoadEvent& event) const {
    return event.pid == pid && event.nanoseconds >= from && event.nanoseconds < to;
  }
};

Span span_of(const Recording& recording, std::size_t index) {
  const RecordedProcess& process = recording.processes[index];
  Span span{.pid = process.pid, .from = process.began};
  bool first = true;
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    if (i == index || recording.processes[i].pid != process.pid) continue;
    if (i < index) first = false;
    if (i > index) span.to = std::min(span.to, recording.processes[i].began);
  }
  // A process may be noticed by its first load.
  if (first) span.from = INT64_MIN;
  return span;
}

bool has_path(const LoadedObject& object, const std::string& path) {
  return std::ranges::find(object.paths, path) != object.paths.end();
}

/// Whether the loader has the event's object where the event says, as `object`.
bool is_at_base(const Snapshot& snapshot, const LoadEvent& event, std::size_t object) {
  const auto* spaces = snapshot.link_map.get();
  if (spaces == nullptr) return false;
  return std::ranges::any_of(*spaces, [&](const LinkNamespace& space) {
    return std::ranges::any_of(space.entries, [&](const LinkEntry& entry) {
      return entry.object == object && entry.load_bias == event.base &&
             (entry.name == event.path || has_path(snapshot.objects[object], event.path));
    });
  });
}

bool is_of_object(const Snapshot& snapshot, const LoadEvent& event, std::size_t object) {
  const LoadedObject& mapped = snapshot.objects[object];
  if (event.key && event.key->is_file() && *event.key == mapped.key) return true;
  // stat and maps may name different devices for one file (overlay, btrfs), not different inodes.
  if (has_path(mapped, event.path) && (!event.key || event.key->inode == mapped.key.inode)) {
    return true;
  }
  return is_at_base(snapshot, event, object);
}

bool is_of_file(const Snapshot& snapshot, const LoadEvent& event, const std::string& path) {
  if (event.path == path) return true;
  const auto entry = snapshot.disk.find(path);
  return entry != snapshot.disk.end() && event.key && event.key->is_file() &&
         entry->second.key == *event.key;
}

/// Index of the first of `items` (candidates or companions) that is the event's file; what is
/// mapped comes before what is on disk only.
template <typename Items, typename Skip>
std::optional<std::size_t> item_of(const Snapshot& snapshot, const LoadEvent& event,
                                   const Items& items, const Skip& skip) {
  std::optional<std::size_t> on_disk;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (skip(items[i])) continue;
    if (items[i].object) {
      if (is_of_object(snapshot, event, *items[i].object)) return i;
    } else if (!on_disk && is_of_file(snapshot, event, items[i].path)) {
      on_disk = i;
    }
  }
  return on_disk;
}

/// When what each event loaded was unloaded: the next event at its place, if that is of its path.
/// One pass, since a command may have a hundred thousand events.
std::vector<std::optional<std::int64_t>> unloads_of(const Recording& recording) {
  std::vector<std::optional<std::int64_t>> out(recording.events.size());
  std::map<std::tuple<std::int64_t, std::uint32_t, std::uint64_t>, std::size_t> loaded;
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const LoadEvent& event = recording.events[i];
    const std::tuple place{event.pid, event.loader_namespace, event.base};
    if (event.kind == LoadKind::load) {
      loaded[place] = i;
      continue;
    }
    const auto load = loaded.find(place);
    if (load == loaded.end() || recording.events[load->second].path != event.path) continue;
    out[load->second] = event.nanoseconds;
    loaded.erase(load);
  }
  return out;
}

/// The judged process and those that it was forked from, itself first.
std::vector<Span> lineage(const Recording& recording, std::size_t judged) {
  std::vector<Span> spans{span_of(recording, judged)};
  std::int64_t parent = recording.processes[judged].parent_pid;
  std::int64_t began = recording.processes[judged].began;
  for (std::size_t i = recording.processes.size(); i-- > 0;) {
    const RecordedProcess& process = recording.processes[i];
    if (process.pid != parent || process.began > began || i == judged) continue;
    Span span = span_of(recording, i);
    span.to = std::min(span.to, began);
    spans.push_back(span);
    parent = process.parent_pid;
    began = process.began;
  }
  return spans;
}

/// An object of the judged process that the event of a process above it loaded: the address tells.
bool is_inherited(const Snapshot& snapshot, const LoadEvent& event, const TimelineRow& row,
                  const Report& report) {
  std::optional<std::size_t> object;
  if (row.candidate) object = report.candidates[*row.candidate].object;
  if (!object && row.companion) object = report.companions[*row.companion].object;
  return object && !row.unloaded && is_at_base(snapshot, event, *object);
}

std::vector<TimelineRow> make_rows(const Report& report, const Recording& recording,
                                   std::optional<std::size_t> judged) {
  const Snapshot& snapshot = report.snapshot;
  const auto spans = judged ? lineage(recording, *judged) : std::vector<Span>{};
  const auto unloads = unloads_of(recording);
  std::vector<TimelineRow> rows;
  rows.reserve(recording.events.size());
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const LoadEvent& event = recording.events[i];
    TimelineRow row;
    row.candidate = item_of(snapshot, event, report.candidates, [](const Candidate& candidate) {
      return candidate.kind == RuntimeKind::static_copy;
    });
    row.companion =
        item_of(snapshot, event, report.companions, [](const Companion&) { return false; });
    row.unloaded = unloads[i];
    if (!spans.empty() && spans.front().holds(event)) {
      row.of_judged = true;
    } else if (std::ranges::any_of(spans, [&](const Span& span) { return span.holds(event); })) {
      row.of_judged = is_inherited(snapshot, event, row, report);
    }
    rows.push_back(row);
  }
  return rows;
}

/// What tells which processes run the same: ranks and workers differ in numbers only.
std::string program_of(const RecordedProcess& process) {
  std::string out = process.executable;
  for (const std::string& argument : process.command_line) out.append(1, '\0').append(argument);
  std::erase_if(out, [](char letter) { return letter >= '0' && letter <= '9'; });
  return out;
}

std::vector<ProcessGroup> make_groups(const Recording& recording) {
  std::vector<ProcessGroup> groups;
  std::map<std::string, std::vector<std::size_t>> groups_of_program;
  const auto concluded = [&](std::size_t index) {
    const RecordedProcess& process = recording.processes[index];
    return std::tie(process.worst, process.findings, process.headline, process.undecided);
  };
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    if (recording.processes[i].judged == JudgeMoment::none) continue;
    auto& alike = groups_of_program[program_of(recording.processes[i])];
    const auto same = std::ranges::find_if(alike, [&](std::size_t group) {
      return concluded(groups[group].members.front()) == concluded(i);
    });
    if (same != alike.end()) {
      groups[*same].members.push_back(i);
      continue;
    }
    alike.push_back(groups.size());
    groups.push_back({.members = {i}});
  }
  for (const auto& [program, alike] : groups_of_program) {
    std::size_t all = 0;
    std::size_t most = 0;
    for (const std::size_t group : alike) {
      all += groups[group].members.size();
      most = std::max(most, groups[group].members.size());
    }
    if (most * 2 <= all) continue;
    for (const std::size_t group : alike) {
      // Of two there is no odd one.
      groups[group].odd = groups[group].members.size() < most && all > 2;
    }
  }
  return groups;
}

}  // namespace

bool nobody_judged(const Snapshot& snapshot) {
  const Recording* recording = snapshot.recording.get();
  return recording != nullptr && recording->judged_pid == 0;
}

bool is_nobody_watched(const Recording& recording) {
  return std::ranges::none_of(recording.processes, [](const RecordedProcess& process) {
    return process.recorded || process.traced;
  });
}

std::vector<std::size_t> processes_left_out(const Recording& recording) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < recording.processes.size(); ++i) {
    const RecordedProcess& process = recording.processes[i];
    if (!process.not_judged.empty() && process.copy_of == 0) out.push_back(i);
  }
  return out;
}

namespace {

/// The path of the recorder of a `run` that is still at work, as LD_AUDIT of one of its processes
/// has it; "" for none. Another file of such a name is told by its soname.
std::string recorder_at_work(const Snapshot& snapshot) {
  constexpr std::string_view kFolder = "doctor-run-";
  constexpr std::string_view kSoname = "doctor-run-recorder.so";
  const Environment* environment = snapshot.environment.get();
  const std::string* list = environment != nullptr ? environment->find("LD_AUDIT") : nullptr;
  if (list == nullptr) return {};
  for (const std::string_view part : split(*list, ':')) {
    const bool shaped =
        base_name(part) == "recorder.so" && base_name(dir_name(part)).starts_with(kFolder);
    if (!shaped) continue;
    const std::string path(part);
    const bool other = std::ranges::any_of(snapshot.objects, [&](const LoadedObject& object) {
      return has_path(object, path) && object.elf.get() != nullptr &&
             object.elf.get()->soname != kSoname;
    });
    if (!other) return path;
  }
  return {};
}

}  // namespace

Snapshot without_recorder(Snapshot snapshot) {
  const Recording* recording = snapshot.recording.get();
  const std::string library =
      recording != nullptr ? recording->recorder : recorder_at_work(snapshot);
  if (library.empty()) return snapshot;
  if (Environment* environment = snapshot.environment.get()) {
    for (auto& [name, value] : environment->variables) {
      if (name != "LD_AUDIT") continue;
      std::vector<std::string> own;
      for (const std::string_view part : split(value, ':')) {
        if (part != library && !part.empty()) own.emplace_back(part);
      }
      value = join(own, ":");
    }
    std::erase_if(environment->variables, [](const auto& variable) {
      return variable.first == "LD_AUDIT" && variable.second.empty();
    });
  }
  if (auto* spaces = snapshot.link_map.get()) {
    std::erase_if(*spaces, [&](const LinkNamespace& space) {
      return space.id != 0 && std::ranges::any_of(space.entries, [&](const LinkEntry& entry) {
               return entry.name == library;
             });
    });
  }
  for (LoadedObject& object : snapshot.objects) {
    if (has_path(object, library)) object.executable = false;
  }
  std::erase_if(snapshot.capture.unread,
                [&](const std::string& line) { return line.starts_with(library + ":"); });
  return snapshot;
}

Timeline make_timeline(const Report& report) {
  Timeline out;
  const Recording* recording = report.snapshot.recording.get();
  if (recording == nullptr) return out;
  out.judged = judged_process(*recording);
  out.rows = make_rows(report, *recording, out.judged);
  out.groups = make_groups(*recording);
  if (recording->judged_pid != 0) out.story = find_story(report, *recording, out);
  return out;
}

std::string short_python_file(const Snapshot& snapshot, const std::string& file) {
  constexpr std::size_t kWhole = 2;  // Parts that are told as they are.
  for (const std::string& site : snapshot.python.site_directories) {
    if (!file.starts_with(site + "/")) continue;
    const auto parts = split(std::string_view(file).substr(site.size() + 1), '/');
    if (parts.size() <= kWhole) return escape_foreign(file.substr(site.size() + 1));
    return escape_foreign(parts.front()) + "/.../" + escape_foreign(parts.back());
  }
  const std::string_view folder = dir_name(file);
  if (folder == "." || folder == "/") return escape_foreign(file);
  return escape_foreign(base_name(folder)) + "/" + escape_foreign(base_name(file));
}

std::string duration_text(std::int64_t nanoseconds) {
  constexpr std::int64_t kMicrosecond = 1000;
  constexpr std::int64_t kMillisecond = 1000 * kMicrosecond;
  constexpr std::int64_t kSecond = 1000 * kMillisecond;
  constexpr std::int64_t kTenths = 10;
  const std::int64_t value = std::max<std::int64_t>(nanoseconds, 0);
  const auto tenths = [&](std::int64_t unit) {
    const std::int64_t count = value / (unit / kTenths);
    return std::to_string(count / kTenths) + "." + std::to_string(count % kTenths);
  };
  if (value < kMillisecond) return tenths(kMillisecond) + " ms";
  if (value < kSecond) return std::to_string(value / kMillisecond) + " ms";
  if (value < 100 * kSecond) return tenths(kSecond) + " s";
  return std::to_string(value / kSecond) + " s";
}

}  // namespace cudart_doctor
