#include "timeline_story.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/analyze/load_scope.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "timeline_arrival.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMostTakers = 2;

/// Everything that the parts of a story ask.
struct World {
  const Report& report;
  const Recording& recording;
  const Timeline& timeline;
};

/// What a story may be about.
struct Subject {
  StoryReason reason = StoryReason::first_runtime;
  std::optional<std::size_t> candidate;
  std::optional<std::size_t> companion;
};

std::string shown(std::string_view path) { return escape_foreign(base_name(path)); }

/// The first load of the subject in the judged process.
std::optional<std::size_t> first_load(const World& world, const Subject& subject) {
  for (std::size_t i = 0; i < world.timeline.rows.size(); ++i) {
    const TimelineRow& row = world.timeline.rows[i];
    if (!row.of_judged || world.recording.events[i].kind != LoadKind::load) continue;
    const bool same = subject.candidate ? row.candidate == subject.candidate
                                        : row.companion && row.companion == subject.companion;
    if (same) return i;
  }
  return std::nullopt;
}

bool is_look_alike_kind(RuntimeKind kind) {
  return kind == RuntimeKind::stub || kind == RuntimeKind::shim || kind == RuntimeKind::stand_in;
}

/// Consumers that are here and would take it, each once.
std::vector<std::string> takers_of(const Report& report, const Candidate& candidate) {
  std::vector<std::string> out;
  for (const Selection& selection : report.selections) {
    const bool takes = selection.outcome == Outcome::selected && candidate.object &&
                       selection.object == candidate.object;
    if (!takes || selection.presence != Presence::present || selection.consumer.empty()) continue;
    std::string name = consumer_phrase(selection);
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

/// Of several the one that was loaded first; those whose load was not seen come last.
std::optional<Subject> earliest(const World& world, const std::vector<Subject>& subjects) {
  std::optional<Subject> best;
  std::size_t place = SIZE_MAX;
  for (const Subject& subject : subjects) {
    const std::size_t load = first_load(world, subject).value_or(SIZE_MAX);
    if (best && load >= place) continue;
    best = subject;
    place = load;
  }
  return best;
}

/// What the first finding speaks of: its evidence has paths, its headline names.
std::vector<Subject> subjects_of_finding(const World& world) {
  const Report& report = world.report;
  if (report.findings.empty() || !report.findings.front().allowed.empty()) return {};
  const Finding& finding = report.findings.front();
  if (finding.severity < Severity::warning) return {};
  const auto speaks_of = [&](const std::string& path) {
    if (path.empty()) return false;
    const std::string whole = escape_foreign(path);
    return finding.headline.find(shown(path)) != std::string::npos ||
           std::ranges::any_of(finding.evidence, [&](const std::string& fact) {
             return fact.find(whole) != std::string::npos;
           });
  };
  std::vector<Subject> subjects;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (candidate.kind == RuntimeKind::static_copy || !candidate.object) continue;
    if (speaks_of(candidate.path)) subjects.push_back({StoryReason::finding, i, {}});
  }
  for (std::size_t i = 0; i < report.companions.size(); ++i) {
    const Companion& companion = report.companions[i];
    if (companion.loaded && speaks_of(companion.path)) {
      subjects.push_back({StoryReason::finding, {}, i});
    }
  }
  return subjects;
}

/// Of several the one that makes the trouble: a look-alike, where there is one.
std::optional<Subject> subject_of_finding(const World& world) {
  std::vector<Subject> subjects = subjects_of_finding(world);
  std::vector<Subject> look_alikes;
  std::ranges::copy_if(subjects, std::back_inserter(look_alikes), [&](const Subject& subject) {
    return subject.candidate &&
           is_look_alike_kind(world.report.candidates[*subject.candidate].kind);
  });
  return earliest(world, look_alikes.empty() ? subjects : look_alikes);
}

std::optional<Subject> choose_subject(const World& world) {
  const auto& candidates = world.report.candidates;
  std::vector<Subject> look_alikes;
  std::vector<Subject> genuine;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.loaded) continue;
    if (is_look_alike_kind(candidate.kind) && !takers_of(world.report, candidate).empty()) {
      look_alikes.push_back({StoryReason::look_alike, i, {}});
    }
    if (candidate.kind == RuntimeKind::genuine) {
      genuine.push_back({StoryReason::first_runtime, i, {}});
    }
  }
  if (auto found = earliest(world, look_alikes)) return found;
  if (auto found = subject_of_finding(world)) return found;
  return earliest(world, genuine);
}

/// The first load of a genuine runtime in the judged process.
std::optional<std::size_t> first_genuine(const World& world) {
  for (std::size_t i = 0; i < world.timeline.rows.size(); ++i) {
    const TimelineRow& row = world.timeline.rows[i];
    if (!row.of_judged || !row.candidate) continue;
    if (world.recording.events[i].kind != LoadKind::load) continue;
    if (world.report.candidates[*row.candidate].kind == RuntimeKind::genuine) return i;
  }
  return std::nullopt;
}

bool lists_runtime(const ElfFacts& elf) {
  return std::ranges::any_of(elf.needed,
                             [](const std::string& name) { return name.starts_with("libcudart"); });
}

bool is_genuine(const Report& report, std::size_t object) {
  return std::ranges::any_of(report.candidates, [object](const Candidate& candidate) {
    return candidate.object == object && candidate.kind == RuntimeKind::genuine;
  });
}

/// Whether every object that was loaded before `event`, but those that brought it, was read and
/// lists no runtime. What was unloaded since shows in the recording, where it listed one.
bool nobody_needed_before(const World& world, std::size_t event,
                          const std::vector<std::string>& bringers) {
  const Snapshot& snapshot = world.report.snapshot;
  const LoadEvent& asked = world.recording.events[event];
  const LinkNamespace* base = base_link_map(snapshot);
  const bool whole = world.timeline.judged &&
                     world.recording.processes[*world.timeline.judged].recorded &&
                     world.recording.processes[*world.timeline.judged].lost == 0 &&
                     world.recording.events_dropped == 0;
  if (base == nullptr || asked.loader_namespace != 0 || !whole) return false;
  const auto brought = [&](std::string_view name) {
    return std::ranges::find(bringers, name) != bringers.end();
  };
  bool found = false;
  for (const LinkEntry& entry : base->entries) {
    if (entry.load_bias == asked.base && entry.name == asked.path) {
      found = true;
      break;
    }
    const auto object = object_of_entry(snapshot, entry);
    if (!object || brought(entry.name)) continue;  // Without an object: the vDSO.
    const ElfFacts* elf = snapshot.objects[*object].elf.get();
    if (elf == nullptr || lists_runtime(*elf) || is_genuine(world.report, *object)) return false;
  }
  if (!found) return false;
  // Recorded are the objects that belong to CUDA or need something of it.
  for (std::size_t i = 0; i < event; ++i) {
    const TimelineRow& row = world.timeline.rows[i];
    if (row.of_judged && row.unloaded && !brought(world.recording.events[i].path)) return false;
  }
  return true;
}

std::string order_text(const World& world, std::size_t event,
                       const std::vector<std::string>& bringers) {
  const std::optional<std::size_t> genuine = first_genuine(world);
  const std::int64_t own = world.recording.events[event].nanoseconds;
  const auto apart = [&](std::int64_t later, std::int64_t earlier) {
    return later == earlier ? std::string() : duration_text(later - earlier) + " ";
  };
  if (genuine && *genuine < event) {
    const LoadEvent& first = world.recording.events[*genuine];
    return ", " + apart(own, first.nanoseconds) + "after " + shown(first.path) +
           ", the first genuine runtime";
  }
  if (genuine == event) return {};
  if (nobody_needed_before(world, event, bringers)) return ", before anybody needed a runtime";
  if (!genuine) return {};
  const LoadEvent& first = world.recording.events[*genuine];
  return ", " + apart(first.nanoseconds, own) + "before " + shown(first.path) +
         ", the first genuine runtime";
}

std::string effect_text(const World& world, const Subject& subject) {
  if (subject.reason != StoryReason::look_alike || !subject.candidate) return {};
  std::vector<std::string> takers =
      takers_of(world.report, world.report.candidates[*subject.candidate]);
  if (takers.empty()) return {};
  const std::size_t more = takers.size() > kMostTakers ? takers.size() - kMostTakers : 0;
  takers.resize(takers.size() - more);
  std::string names = join(takers, more == 0 ? " and " : ", ");
  if (more != 0) names += " and " + std::to_string(more) + " more";
  return "From then on " + names + " would take it for the runtime.";
}

/// The end of `path` that tells it from `other`: "cuda_runtime/lib/libcudart.so.12".
std::string told_apart(std::string_view path, std::string_view other) {
  std::size_t same = 0;
  const std::size_t most = std::min(path.size(), other.size());
  while (same < most && path[path.size() - 1 - same] == other[other.size() - 1 - same]) ++same;
  const std::size_t differs = path.size() - same;  // Behind the last byte that is another one.
  const std::size_t slash = differs == 0 ? std::string_view::npos : path.rfind('/', differs - 1);
  return slash == std::string_view::npos ? escape_foreign(path)
                                         : escape_foreign(path.substr(slash + 1));
}

/// Of copies of one runtime (RT05) the load of the next one: whoever is to be asked about one of
/// the two may be either of them. Nothing where its load was not seen.
std::optional<std::size_t> second_copy(const World& world, const Story& story) {
  const bool copies = story.reason == StoryReason::finding && story.candidate &&
                      world.report.findings.front().id == "RT05";
  if (!copies || !story.event) return std::nullopt;
  std::vector<Subject> others = subjects_of_finding(world);
  std::erase_if(others, [&](const Subject& subject) {
    return !subject.candidate || subject.candidate == story.candidate ||
           !first_load(world, subject);
  });
  const auto next = earliest(world, others);
  return next ? first_load(world, *next) : std::nullopt;
}

std::string second_copy_text(const World& world, std::size_t first, std::size_t second) {
  const LoadEvent& one = world.recording.events[first];
  const LoadEvent& other = world.recording.events[second];
  const std::string when = other.nanoseconds == one.nanoseconds
                               ? "at the same time"
                               : duration_text(other.nanoseconds - one.nanoseconds) + " later";
  return " The other copy, " + told_apart(other.path, one.path) + ", was mapped " + when + ": " +
         arrival_of(world.report, world.recording, second).text + ".";
}

/// What is known without a record of the load.
std::string unseen_text(const World& world, const std::string& path,
                        std::optional<std::size_t> object) {
  std::string why;
  if (world.timeline.judged) {
    const RecordedProcess& process = world.recording.processes[*world.timeline.judged];
    why = process.recorded ? "its load was not recorded" : process.unrecorded;
  }
  std::string out = shown(path) + " is mapped";
  const LinkNamespace* base = base_link_map(world.report.snapshot);
  if (object && base != nullptr) {
    std::string before;
    for (const LinkEntry& entry : base->entries) {
      const auto at = object_of_entry(world.report.snapshot, entry);
      if (at == object && !before.empty()) {
        out += ", in load order right behind " + shown(before);
        break;
      }
      if (at) before = entry.name.empty() ? "the program" : entry.name;
    }
  }
  return out + "; who asked for it is not known" + (why.empty() ? "." : ": " + why + ".");
}

}  // namespace

std::optional<Story> find_story(const Report& report, const Recording& recording,
                                const Timeline& timeline) {
  const World world{report, recording, timeline};
  const std::optional<Subject> subject = choose_subject(world);
  if (!subject) return std::nullopt;
  Story story;
  story.reason = subject->reason;
  story.candidate = subject->candidate;
  const auto object = subject->candidate ? report.candidates[*subject->candidate].object
                                         : report.companions[*subject->companion].object;
  story.object = subject->candidate ? report.candidates[*subject->candidate].path
                                    : report.companions[*subject->companion].path;
  story.effect = effect_text(world, *subject);
  story.event = first_load(world, *subject);
  if (!story.event) {
    story.text = unseen_text(world, story.object, object);
    return story;
  }
  const LoadEvent& event = recording.events[*story.event];
  const ArrivalChain chain = arrival_of(report, recording, *story.event);
  const auto second = second_copy(world, story);
  // Two files of one name are told apart by their folders.
  const std::string name =
      second ? told_apart(event.path, recording.events[*second].path) : shown(event.path);
  story.text = name + " was mapped " + duration_text(event.nanoseconds) + " after the start" +
               order_text(world, *story.event, chain.bringers) + ": " + chain.text + ".";
  if (event.pid != recording.judged_pid) {
    story.text +=
        " That was in pid " + std::to_string(event.pid) + ", from which this process was forked.";
  }
  if (const auto& unloaded = timeline.rows[*story.event].unloaded) {
    story.text += " It was unloaded " + duration_text(*unloaded - event.nanoseconds) + " later.";
  }
  if (second) story.text += second_copy_text(world, *story.event, *second);
  return story;
}

}  // namespace cudart_doctor
