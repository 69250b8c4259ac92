#include "timeline_arrival.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string_view>

#include "cudart_doctor/analyze/load_scope.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMostBringers = 6;  // A chain of DT_NEEDED is short; a loop must end.
constexpr std::size_t kMostPlaces = 4;    // Python files in a sentence.
constexpr std::string_view kModuleLevel = "<module>";

std::string shown(std::string_view path) { return escape_foreign(base_name(path)); }

/// Frames of one file in a row: the innermost tells the line, the outermost how it was entered.
struct Place {
  const PythonFrame* inner = nullptr;
  const PythonFrame* outer = nullptr;
};

/// Whether the code only starts what others wrote: processes, threads, programs.
bool only_starts(const PythonFrame& frame) {
  constexpr std::array<std::string_view, 6> kStarters = {
      "multiprocessing", "subprocess", "concurrent", "threading", "asyncio", "runpy"};
  // What `python -c` is given; it most often calls one of the others.
  if (frame.file == "<string>") return true;
  return std::ranges::any_of(kStarters, [&](std::string_view starter) {
    const std::string_view module = frame.module;
    return module == starter ||
           (module.starts_with(starter) && module.substr(starter.size()).starts_with('.'));
  });
}

/// Frames that tell who wanted it: without those that only do what others ask, unless that leaves
/// none.
std::vector<PythonFrame> telling_frames(const std::vector<PythonFrame>& frames) {
  std::vector<PythonFrame> without_loaders;
  std::ranges::copy_if(frames, std::back_inserter(without_loaders),
                       [](const PythonFrame& frame) { return !loads_for_callers(frame.module); });
  if (without_loaders.empty()) return frames;
  std::vector<PythonFrame> out;
  std::ranges::copy_if(without_loaders, std::back_inserter(out),
                       [](const PythonFrame& frame) { return !only_starts(frame); });
  return out.empty() ? without_loaders : out;
}

/// `frames` outlive what is returned.
std::vector<Place> places_of(const std::vector<PythonFrame>& frames) {
  std::vector<Place> places;
  for (const PythonFrame& frame : frames) {
    if (!places.empty() && places.back().inner->file == frame.file) {
      places.back().outer = &frame;
    } else {
      places.push_back({&frame, &frame});
    }
  }
  return places;
}

std::string python_line(const Snapshot& snapshot, const PythonFrame& frame) {
  return short_python_file(snapshot, frame.file) + ":" + std::to_string(frame.line);
}

/// The load of `path` in the process of `event`, at or before it: the nearest.
std::optional<std::size_t> load_of(const Recording& recording, std::size_t event,
                                   const std::string& path) {
  // Of one dlopen all objects are told at once, the requester before or behind what it needs.
  const LoadEvent& asked = recording.events[event];
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < recording.events.size(); ++i) {
    const LoadEvent& other = recording.events[i];
    if (i == event || other.kind != LoadKind::load || other.pid != asked.pid) continue;
    if (other.path != path || other.loader_namespace != asked.loader_namespace) continue;
    if (i < event || (other.order <= asked.order && !found)) found = i;
  }
  return found;
}

bool is_program(const Snapshot& snapshot, const std::string& path) {
  const std::string* executable = snapshot.process.executable.get();
  if (path.empty() || (executable != nullptr && *executable == path)) return true;
  const auto program = main_program(snapshot);
  if (!program) return false;
  const auto& paths = snapshot.objects[*program].paths;
  return std::ranges::find(paths, path) != paths.end();
}

/// The object, loaded before, that needs the one at `path`: what the link map and DT_NEEDED tell
/// where no event does. Paths are those of the loader. Nothing where it was opened or nobody tells.
std::optional<std::string> needer_of(const Snapshot& snapshot, const std::string& path) {
  const LinkNamespace* base = base_link_map(snapshot);
  if (base == nullptr) return std::nullopt;
  const LoadScope scope(snapshot, *base);
  const auto& entries = scope.entries();
  const auto own = std::ranges::find_if(
      entries, [&](const LoadScope::Entry& entry) { return entry.name == path; });
  if (own == entries.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(own - entries.begin());
  for (std::size_t i = 0; i < index; ++i) {
    const auto needs = scope.needs(i);
    const bool leads = std::ranges::any_of(
        needs, [&](const LoadScope::Need& need) { return need.entry == index; });
    if (leads) return std::string(entries[i].name);
  }
  return std::nullopt;
}

std::string opened_text(const Snapshot& snapshot, const LoadEvent& event, std::size_t places) {
  const std::string what = event.loader_namespace == 0 ? "dlopened" : "opened with dlmopen";
  const std::string python = python_chain(snapshot, event.python, places);
  if (!python.empty()) return what + " at " + python;
  const std::string& caller = event.caller ? event.caller->object : event.requester;
  std::string out = what;
  if (is_program(snapshot, caller)) {
    out += caller.empty() ? "" : " by the program " + shown(caller);
  } else {
    out += " by " + shown(caller);
  }
  if (event.caller && !event.caller->symbol.empty()) {
    out += " in " + escape_foreign(event.caller->symbol);
  }
  if (!event.python_note.empty() && places > 1) out += " (Python: " + event.python_note + ")";
  return out;
}

}  // namespace

std::string python_place(const Snapshot& snapshot, const PythonFrame& frame) {
  std::string out = python_line(snapshot, frame);
  if (frame.function != kModuleLevel && !frame.function.empty()) {
    out += " in " + escape_foreign(frame.function);
  }
  return out;
}

std::string arrival_phrase(const Snapshot& snapshot, const LoadEvent& event, std::size_t places) {
  switch (event.cause) {
    case LoadCause::program: return "the program itself";
    case LoadCause::preload: return "preloaded";
    case LoadCause::opened: return opened_text(snapshot, event, places);
    case LoadCause::unknown: return "who asked is not known";
    case LoadCause::needed: break;
  }
  return "needed by " +
         (is_program(snapshot, event.requester) ? "the program itself" : shown(event.requester));
}

std::string python_chain(const Snapshot& snapshot, const std::vector<PythonFrame>& frames,
                         std::size_t most) {
  const std::vector<PythonFrame> telling = telling_frames(frames);
  const std::vector<Place> places = places_of(telling);
  if (places.empty()) return {};
  std::string out = python_place(snapshot, *places.front().inner);
  std::string_view relation;
  for (std::size_t i = 1; i < std::min(places.size(), most); ++i) {
    const bool import = places[i - 1].outer->function == kModuleLevel;
    const std::string_view next = import ? ", imported by " : ", called by ";
    out.append(next == relation ? std::string_view(" <- ") : next);
    out += python_line(snapshot, *places[i].inner);
    relation = next;
  }
  if (places.size() > most && most > 1) {
    out += " <- " + std::to_string(places.size() - most) + " more";
  }
  return out;
}

ArrivalChain arrival_of(const Report& report, const Recording& recording, std::size_t event) {
  const Snapshot& snapshot = report.snapshot;
  ArrivalChain chain;
  std::optional<std::size_t> at = event;
  std::string path = recording.events[event].path;
  const auto add = [&](const std::string& part) {
    chain.text += (chain.text.empty() ? "" : ", ") + part;
  };
  const auto add_needer = [&](const std::string& needer) {
    chain.bringers.push_back(needer);
    if (is_program(snapshot, needer)) {
      add(chain.text.empty() ? "brought by the program itself (DT_NEEDED)"
                             : "needed by the program itself");
      return false;
    }
    add(chain.text.empty() ? "brought by " + shown(needer) + " (DT_NEEDED)"
                           : "needed by " + shown(needer));
    return chain.bringers.size() < kMostBringers;
  };
  // What was needed carries the stack of whoever opened what needs it.
  const std::vector<PythonFrame>* frames = nullptr;
  for (;;) {
    if (!at) {
      const auto needer = needer_of(snapshot, path);
      if (!needer) {
        if (frames != nullptr) add("dlopened at " + python_chain(snapshot, *frames, kMostPlaces));
        return chain;
      }
      if (!add_needer(*needer)) return chain;
      path = *needer;
      continue;
    }
    const LoadEvent& now = recording.events[*at];
    switch (now.cause) {
      case LoadCause::program: add("the program itself"); return chain;
      case LoadCause::preload: add("preloaded (LD_PRELOAD or ld.so.preload)"); return chain;
      case LoadCause::opened: add(opened_text(snapshot, now, kMostPlaces)); return chain;
      case LoadCause::unknown:
        if (chain.text.empty()) add("who asked for it is not known");
        return chain;
      case LoadCause::needed: break;
    }
    if (!now.python.empty()) frames = &now.python;
    if (!add_needer(now.requester)) return chain;
    path = now.requester;
    at = load_of(recording, *at, path);
  }
}

}  // namespace cudart_doctor
