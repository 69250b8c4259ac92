// `tree` and `--all` for a terminal: the gravest process, then all of them in little, who is odd,
// the remedy, what was not seen.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/analyze/tree_rows.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/tree.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/text_writer.hpp"
#include "render/tree_words.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kScreen = 40;       // Lines of a terminal.
constexpr std::size_t kVerdictCell = 14;  // "CRITICAL RT04"
constexpr std::size_t kDeepest = 8;       // Levels that are still indented.
constexpr std::size_t kFewestTitle = 21;  // Columns of a title that still tell a rank.
constexpr std::size_t kMaxHost = 24;      // Columns of the host's name, as in the report of one.

/// How much of each part is shown, unless verbose.
struct TreeRoom {
  Fold fold = Fold::alike;
  std::size_t rows = 24;
  std::size_t groups = 6;
  std::size_t runtimes = 1;  // Lines of each group's runtimes.
  std::size_t unseen = 4;
  std::size_t odd = 3;
  std::size_t odd_lines = 6;
  std::size_t allowed = 4;
  Room finding{.evidence = 1};
};

/// Columns behind `used` ones.
std::size_t room_behind(const TextWriter& writer, std::size_t used) {
  return writer.columns() - std::min(writer.columns(), used);
}

void write_head(TextWriter& writer, const TreeReport& report) {
  const bool tree = report.scope == TreeScope::tree;
  VerdictWords word{"OK", "", Tone::good};
  const NodeProcess* who = tree && !report.processes.empty() ? &report.processes.front() : nullptr;
  if (leads_with_finding(report)) {
    who = &report.processes[*report.lead];
    word = verdict_words(*who);
  } else if (report.end == RunEnd::undecided) {
    word = {"UNDECIDED", "", Tone::notice};
  }
  const std::string id = word.id.empty() ? "" : " " + word.id;
  std::vector<std::string> places;
  if (!report.host.empty())
    places.push_back("node " + cut_middle(escape_foreign(report.host), kMaxHost));
  if (who != nullptr && !who->gpus.empty()) places.push_back(short_gpu(who->gpus.front()));
  std::string place = join(places, "  ");
  const std::string lead = paint(word.word, word.tone, writer.color()) + id + "  ";
  const std::size_t left = room_behind(writer, display_width(word.word + id) + 2);
  const std::string title = who == nullptr ? "all processes" : process_words(*who);
  const std::size_t beside = place.empty() ? left : left - std::min(left, display_width(place) + 2);
  if (beside >= std::min(display_width(title), kFewestTitle)) {
    writer.line(lead + cut_end(title, beside) + (place.empty() ? "" : "  ") + place);
  } else {
    writer.line(lead + cut_end(title, left));
    writer.labelled("", place);
  }
  writer.entry({.hang = 0}, tree_sentence(report));
  if (!report.undecided.empty()) {
    writer.entry({.hang = 0}, "Not decided: " + printable(report.undecided));
  }
}

std::string gpus_words(const NodeProcess& process) {
  if (process.gpus.empty()) return {};
  std::string out = "  " + short_gpu(process.gpus.front());
  if (process.gpus.size() > 1) out += " +" + std::to_string(process.gpus.size() - 1);
  return out;
}

/// " B CRITICAL RT04  " of what is drawn; the group's letter alone where it is short.
std::string row_lead(const TextWriter& writer, const NodeProcess& process) {
  const VerdictWords word = verdict_words(process);
  const std::string id = word.id.empty() ? "" : " " + word.id;
  const std::size_t width = display_width(word.word + id);
  const std::string gap(width < kVerdictCell ? kVerdictCell - width : 1, ' ');
  return " " + pad(group_letter(process.group), 3) + paint(word.word, word.tone, writer.color()) +
         id + gap;
}

void write_row(TextWriter& writer, const TreeReport& report, const TreeRow& row) {
  const NodeProcess& process = report.processes[row.process];
  constexpr std::size_t kLead = 4 + kVerdictCell;
  // What is drawn is never narrower than this.
  const std::size_t deepest = room_behind(writer, kLead + kFewestTitle) / 2;
  const std::string indent(2 * std::min({row.depth, kDeepest, deepest}), ' ');
  const std::size_t left = room_behind(writer, kLead + indent.size());
  if (row.folded != 0) {
    std::string text = "... " + std::to_string(row.folded) + " more like " +
                       std::to_string(report.processes[row.like].facts.pid);
    if (row.below > row.folded) text += ", " + std::to_string(row.below) + " processes";
    writer.line(std::string(kLead, ' ') + indent + cut_end(text, left));
    return;
  }
  std::string who = std::to_string(process.facts.pid);
  const auto inner = inner_pid(process.facts);
  if (inner && *inner != process.facts.pid) who += " (" + std::to_string(*inner) + ")";
  const std::string text = who + " " + tree_title(process.facts);
  const std::string gpus = gpus_words(process);
  const std::size_t beside = left - std::min(left, display_width(gpus));
  const bool fits = beside >= std::min(display_width(text), kFewestTitle);
  writer.line(row_lead(writer, process) + indent + cut_end(text, fits ? beside : left) +
              (fits ? gpus : ""));
}

/// Whether there is something to be said of the process: a finding, or that it is not decided.
bool is_told(const NodeProcess& process) {
  switch (process.state) {
    case ProcessState::unread:
    case ProcessState::unjudged: return true;
    case ProcessState::judged: return verdict_words(process).tone != Tone::good;
    case ProcessState::without_cuda:
    case ProcessState::kernel_thread:
    case ProcessState::zombie:
    case ProcessState::gone: break;
  }
  return false;
}

/// Of `rows` so many, in their order: where not all have room, the gravest are drawn.
std::vector<std::size_t> rows_to_draw(const TreeReport& report, const std::vector<TreeRow>& rows,
                                      std::size_t most) {
  const auto rank = [&](std::size_t i) {
    const NodeProcess& process = report.processes[rows[i].process];
    return std::tuple(!is_told(process), is_told(process) ? -gravity_of(process) : 0, i);
  };
  std::vector<std::size_t> out(rows.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::ranges::sort(out, {}, rank);
  out.resize(std::min(most, out.size()));
  std::ranges::sort(out);
  return out;
}

void write_tree(TextWriter& writer, const TreeReport& report, const TreeRoom& room) {
  writer.labelled("TREE", count_of(report.processes.size(), "process", "processes") + ": " +
                              join(state_counts(report), ", "));
  const auto rows = tree_rows(report, writer.verbose() ? Fold::none : room.fold);
  const std::size_t shown = writer.shown(rows.size(), room.rows);
  for (const std::size_t i : rows_to_draw(report, rows, shown)) write_row(writer, report, rows[i]);
  if (shown < rows.size()) {
    writer.line(std::string(4, ' ') + "... " + std::to_string(rows.size() - shown) +
                " more rows with -v");
  }
}

/// Whose they are: "uid 1000, container 3f2a1b9c0d4e".
std::string owners_of(const TreeReport& report, const AlikeProcesses& group) {
  std::map<std::string, std::size_t> users;
  std::map<std::string, std::size_t> containers;
  for (const std::size_t member : group.members) {
    const ProcessFacts& facts = report.processes[member].facts;
    if (facts.uid) ++users[std::to_string(*facts.uid)];
    const auto* const cgroup = facts.rights.cgroup.get();
    const std::string container = cgroup == nullptr ? "" : container_of(*cgroup);
    if (!container.empty()) ++containers[container];
  }
  const auto words = [](std::string_view name, const std::map<std::string, std::size_t>& counts) {
    if (counts.empty()) return std::string();
    std::string out = ", " + std::string(name) + " " + counts.begin()->first;
    if (counts.size() > 1) out += " and " + std::to_string(counts.size() - 1) + " more";
    return out;
  };
  return words("uid", users) + words("container", containers);
}

void write_group(TextWriter& writer, const TreeReport& report, std::size_t index,
                 const TreeRoom& room) {
  const AlikeProcesses& group = report.groups[index];
  const NodeProcess& first = report.processes[group.members.front()];
  const bool node = report.scope == TreeScope::node;
  std::string text = count_of(group.members.size(), "process", "processes") + ", " +
                     pids_words(report, group.members, node ? 3 : 4);
  if (node) text += owners_of(report, group);
  text += further_words(first);
  const VerdictWords word = verdict_words(first);
  const Lead lead{.before = " " + pad(group_letter(index), 3),
                  .word = word.word,
                  .tone = word.tone,
                  .after = (word.id.empty() ? "" : " " + word.id) + "  ",
                  .hang = 4};
  writer.entry(lead, text, 2);
  if (node) {
    writer.entry({.before = "    ", .hang = 4},
                 cut_end(tree_title(first.facts), writer.columns() - 4), 1);
  }
  // What a healthy one takes is told by letters of its own report.
  const bool told = word.id.empty() || (leads_with_finding(report) &&
                                        first.group == report.processes[*report.lead].group);
  if (!told) writer.entry({.before = "    ", .hang = 4}, printable(group.digest.sentence), 2);
  const std::vector<std::string>& runtimes = group.digest.order_titles;
  if (!runtimes.empty() && (writer.verbose() || room.runtimes != 0)) {
    writer.entry({.before = "    mapped: ", .hang = 4}, printable(join(runtimes, ", ")),
                 room.runtimes);
  }
  // Most often the same in all of them.
  const bool again =
      index != 0 && !writer.verbose() &&
      report.processes[report.groups[index - 1].members.front()].verdict->consumers ==
          first.verdict->consumers;
  if (!first.verdict->consumers.empty() && !again) {
    writer.entry({.before = "    in it: ", .hang = 4},
                 printable(join(first.verdict->consumers, ", ")), 1);
  }
}

void write_groups(TextWriter& writer, const TreeReport& report, const TreeRoom& room) {
  if (report.groups.empty()) return;
  writer.labelled("GROUPS", "alike but for PIDs, titles and each rank's own variables");
  const std::size_t shown = writer.shown(report.groups.size(), room.groups);
  for (std::size_t i = 0; i < shown; ++i) write_group(writer, report, i, room);
  if (shown < report.groups.size()) {
    writer.line("    " + count_of(report.groups.size() - shown, "more group") + " with -v");
  }
}

void write_ranks(TextWriter& writer, const TreeReport& report, const TreeRoom& room) {
  for (const RankSet& set : report.ranks) {
    constexpr std::size_t kFewest = 3;
    if (set.majority && count_odd(set) == 0) {
      writer.labelled("RANKS", "all " + std::to_string(set.members.size()) + " are alike (" +
                                   group_letter(set.majority) +
                                   "): " + pids_words(report, set.members, 4));
    } else if (!set.majority && set.members.size() >= kFewest) {
      writer.labelled("RANKS", pids_words(report, set.members, 4) +
                                   " are of different groups, and none has most of them");
    }
    if (!set.without.empty()) {
      writer.labelled_whole("ODD", without_words(report, set), room.odd_lines);
    }
    const std::size_t shown = writer.shown(set.odd.size(), room.odd);
    for (std::size_t i = 0; i < shown; ++i) {
      writer.labelled_whole("ODD", odd_words(report, set, set.odd[i]), room.odd_lines);
    }
    write_left_out(writer, "ODD", {.all = set.odd.size(), .shown = shown});
  }
}

/// The command that made this report.
std::string own_command(const TreeReport& report) {
  return "cudart-doctor " + (report.scope == TreeScope::tree
                                 ? "tree --pid " + std::to_string(report.root)
                                 : std::string("--all"));
}

std::string refused_words(const TreeReport& report) {
  return "no permission to read the memory maps, which takes CAP_SYS_PTRACE: sudo " +
         own_command(report) +
         " on the host (in a container even root is without it: docker --cap-add SYS_PTRACE)";
}

/// Reasons, and who: one line each, of many with the same words one for all.
void write_unseen(TextWriter& writer, const TreeReport& report, const TreeRoom& room) {
  std::map<std::string, std::vector<std::size_t>> by_reason;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const NodeProcess& process = report.processes[i];
    const bool open =
        process.state == ProcessState::unread || process.state == ProcessState::unjudged;
    if (!open) continue;
    // The kernel's words name the file: of many processes the reason alone is told.
    const bool refused = process.reason == ErrorKind::permission;
    by_reason[refused ? refused_words(report) : process.note].push_back(i);
  }
  for (const auto& [reason, members] : by_reason) {
    lines.push_back(pids_words(report, members, 3) + ": " + printable(reason));
  }
  for (const std::string& note : report.notes) lines.push_back(printable(note));
  for (const AlikeProcesses& group : report.groups) {
    for (const std::string& gap : group.digest.blind) {
      lines.push_back(pids_words(report, group.members, 3) + ": " + printable(gap));
    }
  }
  const std::size_t shown = writer.shown(lines.size(), room.unseen);
  for (std::size_t i = 0; i < shown; ++i) writer.labelled(i == 0 ? "UNSEEN" : "", lines[i], 3);
  write_left_out(writer, "UNSEEN", {.all = lines.size(), .shown = shown});
}

/// What counts again, and what does not count, as the report of one process says it.
void write_allowed(TextWriter& writer, const TreeReport& report, const TreeRoom& room) {
  std::set<std::string> ended;
  std::map<std::pair<int, AllowedTag>, std::vector<std::size_t>> allowed;  // The gravest first.
  for (std::size_t i = 0; i < report.processes.size(); ++i) {
    const auto& verdict = report.processes[i].verdict;
    if (!verdict) continue;
    ended.insert(verdict->ended.begin(), verdict->ended.end());
    const std::set<AllowedTag> once(verdict->allowed.begin(), verdict->allowed.end());
    for (const AllowedTag& tag : once) allowed[{-int(tag.severity), tag}].push_back(i);
  }
  Listed list{.all = ended.size()};
  for (const std::string& text : ended) {
    if (list.shown == writer.shown(list.all, room.allowed)) break;
    writer.labelled(list.shown == 0 ? "ALLOW" : "", printable(text), 3);
    ++list.shown;
  }
  write_left_out(writer, "ALLOW", list);
  if (allowed.empty()) return;
  writer.title("ALLOWED: without a say in the verdict");
  list = {.all = allowed.size()};
  for (const auto& [key, members] : allowed) {
    if (list.shown == writer.shown(list.all, room.allowed)) break;
    const AllowedTag& tag = key.second;
    const Lead lead{.before = " ",
                    .word = severity_word(tag.severity),
                    .tone = tone_of(tag.severity),
                    .after = " " + printable(tag.id) + "  "};
    writer.entry(lead, pids_words(report, members, 4) + ": " + printable(tag.by), 2);
    ++list.shown;
  }
  write_left_out(writer, "", list);
}

std::string exit_words(const TreeReport& report) {
  constexpr std::array kOrder = {Severity::critical, Severity::error, Severity::warning,
                                 Severity::info};
  if (report.end == RunEnd::undecided) return "could not decide";
  std::vector<std::string> counts;
  for (const Severity severity : kOrder) {
    const std::size_t count = count_findings(report, severity);
    if (count != 0) counts.push_back(severity_count(count, severity));
  }
  const std::size_t allowed = count_allowed(report);
  if (allowed != 0) counts.push_back(std::to_string(allowed) + " allowed");
  if (counts.empty()) return "no finding";
  const auto failing = std::ranges::count_if(report.processes, [](const NodeProcess& process) {
    return process.verdict && process.verdict->end == RunEnd::findings;
  });
  return join(counts, ", ") + "; " +
         count_of(static_cast<std::uint64_t>(failing), "process", "processes") +
         " at or above --fail-on " + std::string(name_of(report.fail_on));
}

/// The next commands to type: each can be copied, so none is broken in two where there is room.
void write_more(TextWriter& writer, const TreeReport& report) {
  std::vector<std::string> commands;
  if (report.lead) {
    const NodeProcess& lead = report.processes[*report.lead];
    commands.push_back("cudart-doctor --pid " + std::to_string(lead.facts.pid));
    if (leads_with_finding(report)) {
      commands.push_back("cudart-doctor explain " + printable(lead.verdict->lead.id));
    }
  }
  if (!writer.verbose()) commands.push_back(own_command(report) + " -v");
  std::string line;
  std::string_view label = "MORE";
  for (const std::string& command : commands) {
    const std::size_t left = room_behind(writer, kTextColumn + line.size() + 2);
    if (!line.empty() && command.size() > left) {
      writer.labelled_whole(label, line, 2);
      label = "";
      line.clear();
    }
    line += (line.empty() ? "" : "; ") + command;
  }
  if (!line.empty()) writer.labelled_whole(label, line, 2);
}

void write_end(TextWriter& writer, const TreeReport& report) {
  writer.labelled("READ", "no probe was run: " +
                              std::string(report.scope == TreeScope::tree ? "tree" : "--all") +
                              " never does; " + report.taken_at);
  write_more(writer, report);
  const std::string style = report.exit_style == ExitStyle::standard
                                ? ""
                                : " (" + std::string(name_of(report.exit_style)) + ")";
  constexpr std::size_t kWhole = 4;
  writer.labelled_whole("EXIT " + std::to_string(report.exit_code), exit_words(report) + style,
                        kWhole);
}

std::string written(const TreeReport& report, const TextOptions& options, const TreeRoom& room) {
  TextWriter writer(options, room.finding);
  write_head(writer, report);
  writer.blank();
  if (report.scope == TreeScope::tree) {
    write_tree(writer, report, room);
  } else {
    writer.labelled("NODE", count_of(report.processes.size(), "process", "processes") + ": " +
                                join(state_counts(report), ", "));
  }
  write_groups(writer, report, room);
  write_ranks(writer, report, room);
  if (leads_with_finding(report)) {
    write_main_finding(writer, report.processes[*report.lead].verdict->lead, owner_words(report));
  }
  write_allowed(writer, report, room);
  write_unseen(writer, report, room);
  write_end(writer, report);
  return writer.take();
}

}  // namespace

std::string render_tree_text(const TreeReport& report, const TextOptions& options) {
  constexpr Room kLess{.evidence = 1, .sentence_lines = 3, .fixes = 3, .no_help = 1};
  constexpr Room kLeast{.evidence = 0, .sentence_lines = 2, .fixes = 2, .no_help = 0};
  constexpr Room kNone{.evidence = 0, .sentence_lines = 1, .fixes = 1, .no_help = 0};
  const std::array rooms = {
      TreeRoom{},
      TreeRoom{.runtimes = 0},
      TreeRoom{.rows = 16, .runtimes = 0, .allowed = 2, .finding = kLess},
      TreeRoom{.fold = Fold::grouped, .runtimes = 0, .allowed = 2, .finding = kLess},
      TreeRoom{.fold = Fold::grouped,
               .rows = 12,
               .groups = 4,
               .runtimes = 0,
               .unseen = 2,
               .odd = 2,
               .odd_lines = 4,
               .allowed = 1,
               .finding = kLeast},
      TreeRoom{.fold = Fold::grouped,
               .rows = 8,
               .groups = 2,
               .runtimes = 0,
               .unseen = 1,
               .odd = 1,
               .odd_lines = 3,
               .allowed = 1,
               .finding = kNone},
  };
  std::string text;
  for (const TreeRoom& room : rooms) {
    text = written(report, options, room);
    const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
    // Short lines are many: on a narrow terminal nothing is left out for it.
    if (options.verbose || options.columns < kMostColumns || lines <= kScreen) break;
  }
  return text;
}

}  // namespace cudart_doctor
