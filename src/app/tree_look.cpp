#include "tree_look.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/collect/survey.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "cudart_doctor/sys/crew.hpp"
#include "cudart_doctor/sys/process_tree.hpp"
#include "cudart_doctor/sys/run_both.hpp"

namespace cudart_doctor {
namespace {

/// How often a look is begun anew without the file that did not answer.
constexpr int kMostTries = 4;

/// Files of /proc/PID that lie in the memory of the process, where each page may be in a file that
/// never answers. A look without them still tells something.
constexpr std::array<std::string_view, 3> kInMemory = {"/mem", "/environ", "/cmdline"};

Result<std::int64_t> root_of(const ManyLook& look) {
  if (look.options.pid) return *look.options.pid;
  const auto owner = find_listener(*look.options.port, look.world.proc_root);
  if (!owner) return tl::unexpected(owner.error());
  return owner->pid;
}

/// `root` and all below it, each parent right before its children, without the doctor.
Result<std::vector<std::int64_t>> tree_pids(const ProcDirectory& proc, std::int64_t root) {
  const auto there = open_process(proc, root);
  if (!there) return tl::unexpected(there.error());
  const auto below = descendants(static_cast<pid_t>(root), proc.path());
  if (!below) return tl::unexpected(below.error());
  std::multimap<std::int64_t, std::int64_t, std::greater<>> children;
  for (const TreeProcess& process : *below) {
    if (process.pid != ::getpid()) children.emplace(process.parent, process.pid);
  }
  std::vector<std::int64_t> out;
  std::vector<std::int64_t> waiting{root};
  while (!waiting.empty()) {
    const std::int64_t pid = waiting.back();
    waiting.pop_back();
    out.push_back(pid);
    const auto [begin, end] = children.equal_range(pid);
    std::vector<std::int64_t> of_pid;
    for (auto at = begin; at != end; ++at) of_pid.push_back(at->second);
    children.erase(begin, end);
    // The last one is taken first.
    std::ranges::sort(of_pid, std::ranges::greater{});
    waiting.insert(waiting.end(), of_pid.begin(), of_pid.end());
  }
  return out;
}

/// Workers on both CPUs; what did not answer is left out of the next try.
class Workers {
 public:
  Workers(const ManyLook& look, std::vector<NodeProcess>& processes)
      : look_(look), processes_(processes) {}

  /// In a worker: the answer for processes[index].
  using Work =
      std::function<std::string(std::size_t index, const std::set<std::string>& skip, Progress&)>;

  /// `end`: of all of them.
  Result<void> run(std::vector<std::size_t> tasks, SteadyTime end, const Work& work,
                   const std::function<void(std::size_t index, ProcessAnswer answer)>& taken) {
    for (int attempt = 0; attempt < kMostTries && !tasks.empty(); ++attempt) {
      std::vector<std::size_t> again;
      const CrewCalls calls{.work =
                                [&](std::size_t task, Progress& progress) {
                                  return work(tasks[task], skipped_by(tasks[task]), progress);
                                },
                            .taken =
                                [&](std::size_t task, const std::string& bytes) {
                                  auto answer = parse_answer(bytes);
                                  if (answer) {
                                    taken(tasks[task], std::move(*answer));
                                  } else {
                                    lose(tasks[task], ErrorKind::io, answer.error().message);
                                  }
                                },
                            .lost =
                                [&](const LostTask& lost) {
                                  lose(tasks[lost.task], lost.kind, sentence_of(lost));
                                  const bool may_help =
                                      lost.kind == ErrorKind::timeout && !lost.step.path.empty();
                                  if (may_help && learn(tasks[lost.task], lost.step.path)) {
                                    again.push_back(tasks[lost.task]);
                                  }
                                },
                            .owner = [&](std::size_t task) { return user_of(tasks[task]); }};
      const auto done = run_crew(limits(end), tasks.size(), calls);
      if (!done) return done;
      tasks = std::move(again);
    }
    return {};
  }

 private:
  [[nodiscard]] CrewLimits limits(SteadyTime end) const {
    return {.end = end,
            .per_task = std::min(kProcessLimit, look_.options.timeout / 6),
            .workers = has_two_cpus() ? 2U : 1U};
  }
  /// The user who started it: a process can hide behind root's name in the owner of its folder in
  /// /proc, or by a set-user-ID program. One that cannot be asked pays for itself.
  [[nodiscard]] std::uint64_t user_of(std::size_t index) const {
    const auto pid = static_cast<std::uint64_t>(processes_[index].facts.pid);
    constexpr std::uint64_t kNoUser = std::uint64_t{1} << 32U;
    const auto process = ProcDirectory::open(look_.world.proc_root + "/" + std::to_string(pid));
    const auto text = process ? process->read_file("status") : tl::unexpected(process.error());
    const auto uid = text ? parse_status(*text).uid : std::nullopt;
    return uid ? std::uint64_t{*uid} : kNoUser + pid;
  }
  /// Whose paths are the same: processes of one mount namespace with one root. A container must not
  /// have a path left out for those of others.
  [[nodiscard]] std::string view_of(std::size_t index) const {
    const std::string pid = std::to_string(processes_[index].facts.pid);
    const auto process = ProcDirectory::open(look_.world.proc_root + "/" + pid);
    if (!process) return pid;
    const auto space = process->read_link("ns/mnt");
    const auto root = process->read_link("root");
    return space && root ? *space + *root : pid;
  }
  [[nodiscard]] std::set<std::string> skipped_by(std::size_t index) const {
    if (skip_.empty()) return {};
    const auto found = skip_.find(view_of(index));
    return found == skip_.end() ? std::set<std::string>() : found->second;
  }
  /// False where it did not answer although it is left out, or cannot be.
  bool learn(std::size_t index, const std::string& path) {
    std::set<std::string>& skip = skip_[view_of(index)];
    if (!path.starts_with(look_.world.proc_root + "/")) {
      skip.insert(path);
      return true;
    }
    const bool can_be = path.find("/driver/") != std::string::npos ||
                        std::ranges::any_of(kInMemory, [&path](std::string_view name) {
                          return path.ends_with(name);
                        });
    return can_be && skip.insert(path).second;
  }
  void lose(std::size_t index, ErrorKind kind, std::string note) {
    NodeProcess& process = processes_[index];
    if (process.state != ProcessState::unjudged) process.state = ProcessState::unread;
    process.reason = kind;
    process.note = std::move(note);
  }
  static std::string sentence_of(const LostTask& lost) {
    std::string out = lost.message;
    if (!lost.step.stage.empty()) out += ", at: " + escape_foreign(lost.step.stage);
    if (!lost.step.path.empty()) out += " " + escape_foreign(lost.step.path);
    return out;
  }

  const ManyLook& look_;
  std::vector<NodeProcess>& processes_;
  std::map<std::string, std::set<std::string>> skip_;  ///< By view_of.
};

SurveyRules survey_rules(ScanDepth depth) {
  return {.is_cuda_name = &is_cuda_name,
          .concerns_cuda = [depth](const ElfFacts& elf, std::string_view path) {
            const ScanPlan plan = plan_scan(elf, path, depth);
            return plan.walk_symbols || plan.search_contents;
          }};
}

std::vector<std::size_t> all_of(const std::vector<NodeProcess>& processes) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < processes.size(); ++i) out.push_back(i);
  return out;
}

/// In a worker: a survey that is made at the first glance, and kept from task to task.
class Glances {
 public:
  Glances(const ManyLook& look, SurveyDepth depth) : look_(look), depth_(depth) {}

  /// Nothing: /proc cannot be opened.
  std::optional<NodeProcess> look(std::int64_t pid, const std::set<std::string>& skip,
                                  Progress& progress) {
    if (!survey_) {
      auto root = ProcDirectory::open(look_.world.proc_root);
      if (!root) return std::nullopt;
      survey_.emplace(std::move(*root),
                      SurveyOptions{.depth = depth_,
                                    .salt = look_.salt,
                                    .progress =
                                        [&progress](std::string_view stage, std::string_view path) {
                                          progress.set(stage, path);
                                        }},
                      survey_rules(look_.options.depth));
    }
    return survey_->look(pid, skip);
  }

 private:
  const ManyLook& look_;
  SurveyDepth depth_;
  std::optional<Survey> survey_;
};

Result<void> glance(const ManyLook& look, TreeReport& report, Workers& workers) {
  Glances glances(look, report.scope == TreeScope::tree ? SurveyDepth::facts : SurveyDepth::count);
  // Those that do not answer have to leave time for the full looks at the others.
  const SteadyTime begin = std::chrono::steady_clock::now();
  return workers.run(
      all_of(report.processes), begin + (look.end - begin) / 2,
      [&](std::size_t index, const std::set<std::string>& skip, Progress& progress) {
        auto process = glances.look(report.processes[index].facts.pid, skip, progress);
        if (!process) return std::string();
        ProcessAnswer answer;
        answer.process = std::move(*process);
        return write_answer(std::move(answer));
      },
      [&](std::size_t index, ProcessAnswer answer) {
        report.processes[index] = std::move(answer.process);
      });
}

/// With --redact names are learned from all of them, before any is replaced.
Snapshot naming(const ProcessAnswer& answer) {
  Snapshot out;
  out.process = answer.process.facts;
  out.host.name = answer.host;
  out.environment = Fact<Environment>::known(answer.naming);
  return out;
}

/// The full looks: one for all processes that are alike.
class FullLooks {
 public:
  FullLooks(const ManyLook& look, ManySeen& seen, Workers& workers)
      : look_(look), seen_(seen), workers_(workers) {
    std::vector<NodeProcess>& processes = seen_.report.processes;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (processes[i].state != ProcessState::unjudged) continue;
      // Cards are held by each for itself, and so is what has no likeness.
      const std::string& likeness = processes[i].likeness;
      waiting_[likeness.empty() ? "#" + std::to_string(i) : likeness].push_back(i);
    }
  }

  Result<void> run() {
    // One that ends, or does not answer, says nothing of those that are like it.
    for (int round = 0; !waiting_.empty(); ++round) {
      constexpr int kMostAlone = 3;
      std::vector<std::size_t> tasks;
      for (const auto& [likeness, members] : waiting_) {
        const std::size_t most = round < kMostAlone ? 1 : members.size();
        tasks.insert(tasks.end(), members.begin(), members.begin() + std::ptrdiff_t(most));
      }
      const auto done = judge(std::move(tasks));
      if (!done) return done;
      share();
    }
    if (too_many_) {
      seen_.report.notes.push_back("more than " + std::to_string(ProcessGroups::kMost) +
                                   " different ones: the others are in no group");
    }
    std::move(groups_).give_to(seen_.report);
    return {};
  }

 private:
  Result<void> judge(std::vector<std::size_t> tasks) {
    Glances glances(look_, SurveyDepth::count);
    return workers_.run(
        std::move(tasks), look_.end,
        [&](std::size_t index, const std::set<std::string>& skip, Progress& progress) {
          const NodeProcess& process = seen_.report.processes[index];
          ProcessAnswer answer = judge_process(look_, process, skip, progress);
          if (is_shared(process.likeness)) {
            // What became another one between glance and look says nothing of its twins.
            const auto again = glances.look(process.facts.pid, skip, progress);
            if (!again || again->likeness != process.likeness) answer.process.likeness.clear();
          }
          return write_answer(std::move(answer));
        },
        [this](std::size_t index, ProcessAnswer answer) { take(index, std::move(answer)); });
  }

  void take(std::size_t index, ProcessAnswer answer) {
    if (look_.options.redact) seen_.naming.push_back(naming(answer));
    if (!answer.host.empty()) seen_.report.host = answer.host;
    NodeProcess& process = seen_.report.processes[index];
    process = std::move(answer.process);
    if (!answer.digest) return;
    process.group = groups_.place(std::move(*answer.digest));
    too_many_ = too_many_ || !process.group;
  }

  /// Those that are like one that was judged have its verdict; who was looked at waits no more.
  void share() {
    std::vector<NodeProcess>& processes = seen_.report.processes;
    for (auto& [likeness, members] : waiting_) {
      const NodeProcess& first = processes[members.front()];
      const bool settled =
          first.likeness == likeness &&
          (first.state == ProcessState::judged || first.state == ProcessState::without_cuda);
      for (std::size_t i = 1; settled && i < members.size(); ++i) {
        NodeProcess& twin = processes[members[i]];
        if (twin.state == ProcessState::unjudged) twin = like(first, std::move(twin));
      }
      members.erase(members.begin());
      std::erase_if(members, [&](std::size_t member) {
        const NodeProcess& each = processes[member];
        return each.state != ProcessState::unjudged || !each.note.empty();
      });
    }
    std::erase_if(waiting_, [](const auto& each) { return each.second.empty(); });
  }

  [[nodiscard]] bool is_shared(const std::string& likeness) const {
    const auto found = waiting_.find(likeness);
    return found != waiting_.end() && found->second.size() > 1;
  }

  static NodeProcess like(const NodeProcess& first, NodeProcess twin) {
    NodeProcess out = first;
    out.facts.pid = twin.facts.pid;
    out.facts.parent_pid = twin.facts.parent_pid;
    out.facts.start_ticks = twin.facts.start_ticks;
    out.facts.comm = std::move(twin.facts.comm);
    out.facts.ns_pids = std::move(twin.facts.ns_pids);
    out.gpus = std::move(twin.gpus);
    out.judged_as = first.facts.pid;
    return out;
  }

  const ManyLook& look_;
  ManySeen& seen_;
  Workers& workers_;
  std::map<std::string, std::vector<std::size_t>> waiting_;
  ProcessGroups groups_;
  bool too_many_ = false;
};

}  // namespace

Result<ManySeen> look_at_many(const ManyLook& look) {
  const auto proc = ProcDirectory::open(look.world.proc_root);
  if (!proc) return tl::unexpected(proc.error());
  ManySeen seen;
  TreeReport& report = seen.report;
  report.taken_at = utc_now();
  report.scope = look.options.command == Command::tree ? TreeScope::tree : TreeScope::node;
  Result<std::vector<std::int64_t>> pids = std::vector<std::int64_t>();
  if (report.scope == TreeScope::tree) {
    const auto root = root_of(look);
    if (!root) return tl::unexpected(root.error());
    report.root = *root;
    pids = tree_pids(*proc, *root);
  } else {
    pids = proc->list_pids();
    if (pids) std::erase(*pids, std::int64_t{::getpid()});
    report.notes = out_of_sight(*proc);
  }
  if (!pids) return tl::unexpected(pids.error());
  for (const std::int64_t pid : *pids) report.processes.emplace_back().facts.pid = pid;
  Workers workers(look, report.processes);
  auto done = glance(look, report, workers);
  if (done) done = FullLooks(look, seen, workers).run();
  if (!done) return tl::unexpected(done.error());
  if (report.scope == TreeScope::tree) find_ranks(report);
  return seen;
}

}  // namespace cudart_doctor
