#include "render/run_phrases.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/redact.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxTitle = 48;  // Columns of a command line in a sentence.
constexpr std::size_t kMaxPids = 4;

std::string title_of(const std::vector<std::string>& command_line) {
  ProcessFacts process;
  process.command_line = Fact<std::vector<std::string>>::known(command_line);
  return cut_end(process_title(process), kMaxTitle);
}

/// "9 (SIGKILL)"
std::string signal_text(int number) {
  const char* const name = sigabbrev_np(number);
  return std::to_string(number) + (name == nullptr ? "" : " (SIG" + std::string(name) + ")");
}

std::string end_text(const Recording& recording) {
  const std::string after = duration_text(recording.duration);
  switch (recording.end) {
    case ProcessEnd::exited:
      return "exit code " + std::to_string(recording.status) + " after " + after;
    case ProcessEnd::signalled:
      return "ended by signal " + signal_text(recording.status) + " after " + after;
    case ProcessEnd::running:
      return recording.stopped ? "stopped with the verdict, " + after + " after its start"
                               : "running " + after + " after its start";
    case ProcessEnd::replaced_by_exec:
    case ProcessEnd::unknown: break;
  }
  return "how it ended is not known";
}

/// When the report's process was looked at, and whether the command was ready; "" where none was.
std::string moment_text(const Report& report, const Recording& recording) {
  const JudgeMoment moment = report.timeline.judged
                                 ? recording.processes[*report.timeline.judged].judged
                                 : JudgeMoment::none;
  const std::string ready =
      recording.ready ? "ready (" + escape_foreign(recording.ready_when) + ")" : std::string();
  const std::string also = ready.empty() ? ready : "; " + ready;
  switch (moment) {
    case JudgeMoment::none: return ready;
    case JudgeMoment::exit: return "judged in the moment before its end" + also;
    case JudgeMoment::ready:
      return "judged when ready (" + escape_foreign(recording.ready_when) + ")";
    case JudgeMoment::load:
      return recording.gated ? "ended by the gate, judged right after this load; what is loaded "
                               "later could change the verdict" +
                                   also
                             : "judged right after its last load" + also;
  }
  return {};
}

std::size_t count_recorded(const Recording& recording) {
  return static_cast<std::size_t>(std::ranges::count_if(
      recording.processes, [](const RecordedProcess& process) { return process.recorded; }));
}

bool is_of_cuda(const TimelineRow& row, const LoadEvent& event) {
  if (row.candidate || row.companion) return true;
  // Gone by the time of the look: only its name is left.
  const std::string_view name = base_name(event.path);
  return std::ranges::any_of(std::vector<std::string_view>{"libcudart", "libcuda.", "libnvrtc"},
                             [&](std::string_view word) { return name.starts_with(word); });
}

Mark mark_of_row(const Report& report, const TimelineRow& row) {
  if (row.candidate) return mark_of(report.candidates[*row.candidate].kind);
  return {};
}

std::string conclusion_of(const RecordedProcess& process) {
  if (!process.worst) return process.undecided.empty() ? "OK" : "undecided";
  std::vector<std::string> ids;
  for (const std::string& id : process.findings) {
    if (ids.empty() || ids.back() != printable(id)) ids.push_back(printable(id));
  }
  return severity_word(*process.worst) + (ids.empty() ? "" : " " + join(ids, ", "));
}

std::string pids_text(const Recording& recording, const std::vector<std::size_t>& members) {
  std::vector<std::string> pids;
  for (std::size_t i = 0; i < std::min(members.size(), kMaxPids); ++i) {
    pids.push_back(std::to_string(recording.processes[members[i]].pid));
  }
  std::string out = "pid " + join(pids, ", ");
  if (members.size() > kMaxPids) {
    out += " and " + std::to_string(members.size() - kMaxPids) + " more";
  }
  return out;
}

}  // namespace

std::string command_title(const Recording& recording) { return title_of(recording.command); }

namespace {

/// "5 processes, 3 recorded"
std::string processes_text(const Recording& recording) {
  const std::size_t all = recording.processes.size();
  const std::size_t recorded = count_recorded(recording);
  const std::string how = recorded != all ? std::to_string(recorded) + " recorded"
                          : all == 1      ? "recorded"
                                          : "all recorded";
  return count_of(all, "process", "processes") + ", " + how;
}

}  // namespace

std::string trouble_sentence(const Recording& recording) {
  if (recording.gated) return {};
  const bool unready = !recording.ready_when.empty() && !recording.ready;
  const bool failed = recording.end == ProcessEnd::signalled ||
                      (recording.end == ProcessEnd::exited && recording.status != 0);
  if (!unready && !failed) return {};
  const std::string how = end_text(recording);
  if (unready)
    return "The command never was ready (" + escape_foreign(recording.ready_when) + "): " + how +
           ".";
  return recording.end == ProcessEnd::signalled ? "The command was " + how + "."
                                                : "The command failed: " + how + ".";
}

std::string nobody_sentence(const Recording& recording) {
  const std::string processes = processes_text(recording);
  const bool all_watched =
      !recording.processes.empty() &&
      std::ranges::all_of(recording.processes, [](const RecordedProcess& process) {
        return process.recorded || process.traced;
      });
  if (recording.events.empty() && !all_watched) {
    return "No CUDA library was seen in this command (" + processes +
           "): what was not recorded may have loaded one.";
  }
  if (recording.events.empty()) {
    return "No CUDA library was loaded by this command (" + processes + ").";
  }
  return "No process of this command held a CUDA library when it could be judged (" + processes +
         ").";
}

std::string run_sentence(const Report& report, const Recording& recording) {
  std::vector<std::string> parts;
  const auto add = [&](std::string part) {
    if (!part.empty()) parts.push_back(std::move(part));
  };
  add(moment_text(report, recording));
  if (!recording.ready_when.empty() && !recording.ready) {
    add("never ready (" + escape_foreign(recording.ready_when) + ")");
  }
  add(end_text(recording));
  // The first sentence has it where nothing was judged.
  if (recording.judged_pid != 0) add(processes_text(recording));
  return command_title(recording) + ": " + join(parts, "; ");
}

std::string story_text(const Report& report) {
  const auto& story = report.timeline.story;
  if (!story) return {};
  return printable(story->text + (story->effect.empty() ? "" : " " + story->effect));
}

std::vector<LoadRow> load_rows(const Report& report, const Recording& recording) {
  const auto refs = candidate_refs(report);
  std::vector<LoadRow> out;
  for (std::size_t i = 0; i < report.timeline.rows.size(); ++i) {
    const TimelineRow& row = report.timeline.rows[i];
    const LoadEvent& event = recording.events[i];
    if (event.kind != LoadKind::load || !is_of_cuda(row, event)) continue;
    if (!row.of_judged && recording.judged_pid != 0) continue;
    LoadRow next{.event = i,
                 .time = duration_text(event.nanoseconds),
                 .ref = row.candidate ? refs[*row.candidate] : "",
                 .mark = mark_of_row(report, row),
                 .name = escape_foreign(base_name(event.path)),
                 .how = printable(arrival_phrase(report.snapshot, event, 1))};
    if (event.loader_namespace != 0) {
      next.how += "; loader namespace " + std::to_string(event.loader_namespace);
    }
    if (row.unloaded) {
      next.how += "; unloaded " + duration_text(*row.unloaded - event.nanoseconds) + " later";
    }
    if (event.pid != recording.judged_pid) next.how += "; in pid " + std::to_string(event.pid);
    out.push_back(std::move(next));
  }
  return out;
}

namespace {

/// How grave it is for its process: above all what is found, then what is open.
int rank_of(const RecordedProcess& process) {
  if (process.worst) return 2 + static_cast<int>(*process.worst);
  return process.undecided.empty() ? 0 : 1;
}

/// Groups of other processes with one conclusion, told as one.
struct OtherProcesses {
  std::vector<std::size_t> members;
  bool own = false;  ///< What was concluded of the judged process holds for them.
  bool odd = false;
};

std::vector<OtherProcesses> others_of(const Report& report, const Recording& recording) {
  std::vector<OtherProcesses> out;
  const auto concluded = [&](const OtherProcesses& group) {
    const RecordedProcess& process = recording.processes[group.members.front()];
    return std::tie(process.worst, process.findings, process.headline, process.undecided);
  };
  for (const ProcessGroup& group : report.timeline.groups) {
    OtherProcesses next{.members = group.members, .odd = group.odd};
    next.own = report.timeline.judged && std::erase(next.members, *report.timeline.judged) != 0;
    if (next.members.empty()) continue;
    const auto same = std::ranges::find_if(out, [&](const OtherProcesses& each) {
      return each.own == next.own && each.odd == next.odd && concluded(each) == concluded(next);
    });
    if (same == out.end()) {
      out.push_back(std::move(next));
    } else {
      same->members.insert(same->members.end(), next.members.begin(), next.members.end());
    }
  }
  std::ranges::stable_sort(out, [&](const OtherProcesses& a, const OtherProcesses& b) {
    if (a.odd != b.odd) return a.odd;
    return rank_of(recording.processes[a.members.front()]) >
           rank_of(recording.processes[b.members.front()]);
  });
  return out;
}

/// Their command line, where they have one in common.
std::string common_title(const Recording& recording, const std::vector<std::size_t>& members) {
  const std::string first = title_of(recording.processes[members.front()].command_line);
  const bool same = std::ranges::all_of(members, [&](std::size_t member) {
    return title_of(recording.processes[member].command_line) == first;
  });
  return same ? " " + first : " " + first + " and others";
}

}  // namespace

std::vector<std::string> other_processes(const Report& report, const Recording& recording) {
  std::vector<std::string> out;
  for (const OtherProcesses& group : others_of(report, recording)) {
    const RecordedProcess& first = recording.processes[group.members.front()];
    const std::string pids = pids_text(recording, group.members);
    if (group.own) {
      out.push_back("the same result: " + pids);
      continue;
    }
    std::string text = conclusion_of(first) + ": " + pids + common_title(recording, group.members);
    if (group.odd) text = "unlike the others, " + text;
    if (!first.headline.empty()) text += ": " + printable(first.headline);
    out.push_back(std::move(text));
  }
  return out;
}

std::string process_name(const Recording& recording, const RecordedProcess& process) {
  if (!process.command_line.empty()) {
    return escape_foreign(join(redact_arguments(process.command_line), " "));
  }
  if (!process.executable.empty()) return escape_foreign(process.executable);
  if (process.pid == recording.root_pid) {
    return escape_foreign(join(redact_arguments(recording.command), " "));
  }
  return "(ended before its name could be read)";
}

std::vector<std::string> left_running(const Recording& recording) {
  std::vector<std::string> out;
  if (recording.end == ProcessEnd::running) return out;
  for (const RecordedProcess& process : recording.processes) {
    if (process.end != ProcessEnd::running) continue;
    out.push_back("pid " + std::to_string(process.pid) + " " + process_name(recording, process));
  }
  return out;
}

std::vector<std::string> run_limits(const Recording& recording) {
  std::vector<std::string> out;
  for (const std::string& limit : recording.limits) out.push_back(printable(limit));
  for (const std::size_t index : processes_left_out(recording)) {
    const RecordedProcess& process = recording.processes[index];
    out.push_back("pid " + std::to_string(process.pid) + " " + title_of(process.command_line) +
                  ": not judged: " + printable(process.not_judged));
  }
  std::map<std::pair<bool, std::string>, std::size_t> unrecorded;
  for (const RecordedProcess& process : recording.processes) {
    if (process.recorded || process.unrecorded.empty()) continue;
    ++unrecorded[{process.traced, process.unrecorded}];
  }
  for (const auto& [kind, count] : unrecorded) {
    const auto& [traced, reason] = kind;
    out.push_back(
        count_of(count, "process", "processes") +
        (traced ? " traced, not recorded: " : " not recorded, only looked at now and then: ") +
        printable(reason));
  }
  std::uint64_t lost = 0;
  for (const RecordedProcess& process : recording.processes) lost += process.lost;
  if (lost != 0) out.push_back(count_of(lost, "record") + " of loads did not arrive");
  if (recording.events_dropped != 0) {
    out.push_back(count_of(recording.events_dropped, "later load") + " not kept");
  }
  return out;
}

}  // namespace cudart_doctor
