// The parent's side of the probe: opens, runs job after job, and puts together what came of it.
#include "cudart_doctor/probe/runner.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "descendants.hpp"
#include "differences.hpp"
#include "frame_sink.hpp"
#include "open_subject.hpp"
#include "pair.hpp"
#include "program_file.hpp"
#include "rights.hpp"
#include "runner_environment.hpp"
#include "schedule.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Less than a child needs to start at all.
constexpr milliseconds kTooShort{50};

bool is_failure(const StageResult& stage) {
  return stage.outcome == StageOutcome::fail || stage.outcome == StageOutcome::begun;
}

/// By device and stage, the exporter first: two runs that saw the same tell the same, however the
/// children's records met.
void put_in_order(std::vector<StageResult>& stages) {
  std::stable_sort(stages.begin(), stages.end(), [](const StageResult& a, const StageResult& b) {
    return std::tie(a.device, a.peer_device, a.stage, a.side) <
           std::tie(b.device, b.peer_device, b.stage, b.side);
  });
}

class ProbeRun {
 public:
  ProbeRun(const ProbePlan& plan, const ProbeRunOptions& options)
      : plan_(plan), options_(options), began_(steady_clock::now()) {
    facts_.decision = ProbeDecision::run;
    facts_.runtimes.resize(plan.subjects.size());
    for (std::size_t i = 0; i < plan.subjects.size(); ++i) {
      const ProbeSubject& subject = plan.subjects[i];
      ProbedRuntime& runtime = facts_.runtimes[i];
      runtime.candidate = subject.candidate;
      runtime.path = subject.path;
      runtime.selected = subject.selected;
      runtime.look_alike = subject.look_alike;
    }
    files_.resize(plan.subjects.size());
  }

  ProbeFacts run() {
    const Result<void> done = prepare().and_then([this] { return run_jobs(); });
    if (!done) refuse_all(done.error().message);
    order_as_run();
    facts_.milliseconds = static_cast<std::uint32_t>(
        std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_).count());
    return std::move(facts_);
  }

 private:
  Result<void> prepare();
  Result<void> run_jobs();
  std::vector<std::size_t> open_all(const SubjectPlace& place);
  void run_job(const Job& job, const PairSetting& setting, std::deque<Job>& jobs);
  PairRequest request_for(const Job& job) const;
  void keep(const Job& job, const PairOutcome& outcome);
  void keep_one(const Job& job, const PairOutcome& outcome, std::size_t place);
  void keep_common(const PairOutcome& outcome);
  void leave_out(const Job& job, const std::string& why);
  void refuse_all(const std::string& why);
  void add_difference(std::string text);
  void order_as_run();

  const ProbePlan& plan_;
  const ProbeRunOptions& options_;
  SteadyTime began_;
  ProbeFacts facts_;
  std::optional<ProcDirectory> proc_;
  ChildRights rights_;
  std::vector<std::string> environment_;
  std::string mark_;  ///< A variable by which processes in another PID namespace are known as ours.
  UniqueFd executable_;
  std::vector<UniqueFd> files_;  ///< As the plan's subjects; not valid: not run.
  std::vector<std::optional<StageResult>> file_stages_;
  std::vector<std::size_t> ran_;  ///< In the order of the first run.
  bool driver_checked_ = false;
  std::string start_failed_;
};

Result<void> ProbeRun::prepare() {
  auto proc = ProcDirectory::open(options_.proc_root);
  if (!proc) return tl::unexpected(proc.error());
  proc_ = std::move(*proc);
  auto rights = read_rights(*proc_, plan_.identity);
  if (!rights) return tl::unexpected(rights.error());
  rights_ = std::move(*rights);
  environment_ = child_environment(plan_.environment);
  if (rights_.pid_namespace.valid()) {
    // Orphans there become children of that namespace's first process, not ours.
    mark_ = make_mark();
    if (!mark_.empty()) environment_.push_back(mark_);
  }
  facts_.environment = reported_environment(environment_);
  auto executable = open_program(options_.executable, rights_);
  if (!executable) return tl::unexpected(executable.error());
  executable_ = std::move(*executable);
  facts_.differences = find_differences(*proc_, plan_.identity, rights_);
  return {};
}

Result<void> ProbeRun::run_jobs() {
  const auto place = open_subject_place(*proc_, plan_.identity);
  if (!place) return tl::unexpected(place.error());
  std::deque<Job> jobs = first_jobs(plan_, open_all(*place));
  Descendants descendants(*proc_);
  descendants.know_by(mark_);
  const PairSetting setting{.rights = &rights_,
                            .environment = &environment_,
                            .executable = executable_.get(),
                            .end = began_ + options_.deadline,
                            .stage_limit = options_.stage_limit,
                            .progress = options_.progress,
                            .descendants = &descendants};
  while (!jobs.empty()) {
    const Job job = std::move(jobs.front());
    jobs.pop_front();
    if (Descendants::interrupted()) {
      leave_out(job, "interrupted");
    } else if (!start_failed_.empty()) {
      leave_out(job, start_failed_);
    } else if (steady_clock::now() + kTooShort >= setting.end) {
      leave_out(job, "no time left");
    } else {
      run_job(job, setting, jobs);
    }
  }
  if (auto other = driver_difference(plan_, facts_.driver)) add_difference(std::move(*other));
  return {};
}

std::vector<std::size_t> ProbeRun::open_all(const SubjectPlace& place) {
  std::vector<std::size_t> runnable;
  std::map<std::pair<std::string, bool>, std::size_t> by_contents;
  file_stages_.resize(plan_.subjects.size());
  for (std::size_t i = 0; i < plan_.subjects.size(); ++i) {
    const ProbeSubject& subject = plan_.subjects[i];
    ProbedRuntime& runtime = facts_.runtimes[i];
    runtime.skipped = subject.skip;
    if (!subject.skip.empty()) continue;
    if (options_.progress) options_.progress("probe: open " + escape_foreign(subject.path));
    auto opened = open_subject(place, subject);
    if (!opened) {
      runtime.skipped = opened.error().message;
      continue;
    }
    runtime.opened_by = opened->opened_by;
    runtime.stages.push_back(opened->file);
    if (opened->file.outcome != StageOutcome::pass) continue;
    if (!subject.build_id.empty()) {
      const auto [first, is_new] =
          by_contents.try_emplace({subject.build_id, subject.look_alike}, i);
      if (!is_new) {
        runtime.skipped = "same contents as " + plan_.subjects[first->second].path;
        runtime.stages.clear();
        continue;
      }
    }
    file_stages_[i] = opened->file;
    files_[i] = std::move(opened->fd);
    runnable.push_back(i);
  }
  return runnable;
}

PairRequest ProbeRun::request_for(const Job& job) const {
  PairRequest request;
  request.order.bound_names = plan_.bound_names;
  request.order.devices = plan_.devices;
  request.order.all_pairs = plan_.all_pairs;
  request.order.no_ipc = plan_.no_ipc;
  const bool look_alike = plan_.subjects[job.subjects.front()].look_alike;
  // What the driver can do is not asked through something that may only play a runtime.
  request.order.driver_checks = !driver_checked_ && !look_alike;
  // A stub may end the process at any call: it is only asked for its symbols.
  const bool symbols_only = plan_.subjects[job.subjects.front()].symbols_only;
  request.partner = symbols_only ? Partner::none : Partner::importer;
  for (const std::size_t subject : job.subjects) {
    request.order.runtimes.push_back({.index = static_cast<std::uint32_t>(subject),
                                      .symbols_only = plan_.subjects[subject].symbols_only});
    request.files.push_back(files_[subject].get());
  }
  return request;
}

void ProbeRun::run_job(const Job& job, const PairSetting& setting, std::deque<Job>& jobs) {
  for (const std::size_t subject : job.subjects) {
    if (std::find(ran_.begin(), ran_.end(), subject) == ran_.end()) ran_.push_back(subject);
  }
  const PairOutcome outcome = run_pair(setting, request_for(job));
  keep_common(outcome);
  keep(job, outcome);
  if (!outcome.started) {
    start_failed_ = "the children could not be started";
    return;
  }
  JobEnd end;
  end.culprit = outcome.culprit;
  for (const RuntimeRecord& record : outcome.runtimes) {
    end.finished.push_back(record.finished);
    end.failed.push_back(record.failed);
  }
  add_follow_ups(job, end, jobs);
}

void ProbeRun::keep(const Job& job, const PairOutcome& outcome) {
  for (std::size_t place = 0; place < job.subjects.size(); ++place) {
    const bool served = outcome.runtimes[place].finished || outcome.culprit == place;
    // A repetition that could not start tells nothing: what was seen before stays.
    if (served || (!outcome.started && !job.repeat)) keep_one(job, outcome, place);
  }
}

void ProbeRun::keep_one(const Job& job, const PairOutcome& outcome, std::size_t place) {
  const std::size_t subject = job.subjects[place];
  const RuntimeRecord& record = outcome.runtimes[place];
  ProbedRuntime& runtime = facts_.runtimes[subject];
  const auto in_company = std::find_if(runtime.stages.begin(), runtime.stages.end(), is_failure);
  std::optional<StageResult> before;
  if (job.repeat && in_company != runtime.stages.end()) before = *in_company;

  runtime.alone = job.alone || job.subjects.size() == 1;
  runtime.stages = outcome.start;
  if (file_stages_[subject]) runtime.stages.push_back(*file_stages_[subject]);
  runtime.stages.insert(runtime.stages.end(), record.stages.begin(), record.stages.end());
  put_in_order(runtime.stages);
  if (before && std::none_of(runtime.stages.begin(), runtime.stages.end(), is_failure)) {
    before->outcome = StageOutcome::skipped;
    before->side = ProbeSide::runner;
    before->detail = "failed beside other runtimes, passed alone: " + before->detail;
    runtime.stages.push_back(std::move(*before));
  }
  runtime.runtime_version = record.runtime_version;
  runtime.driver_version = record.driver_version;
  runtime.missing = record.missing;
  runtime.elsewhere = record.elsewhere;
  const bool all_served = std::all_of(outcome.runtimes.begin(), outcome.runtimes.end(),
                                      [](const RuntimeRecord& one) { return one.finished; });
  const bool own_end = all_served || !outcome.started || outcome.culprit == place;
  runtime.exporter = own_end ? outcome.exporter : ChildEnd{};
  runtime.importer = own_end ? outcome.importer : ChildEnd{};
  if (!own_end && record.failed) {
    runtime.exporter.output = outcome.exporter.output;
    runtime.importer.output = outcome.importer.output;
  }
}

void ProbeRun::keep_common(const PairOutcome& outcome) {
  driver_checked_ = driver_checked_ || outcome.driver_checked;
  if (!facts_.driver) facts_.driver = outcome.driver;
  for (const ProbeDevice& device : outcome.devices) {
    const auto known = std::find_if(facts_.devices.begin(), facts_.devices.end(),
                                    [&](auto& one) { return one.ordinal == device.ordinal; });
    if (known == facts_.devices.end()) {
      facts_.devices.push_back(device);
    } else {
      complete_device(device, *known);
    }
  }
  facts_.mechanisms.insert(facts_.mechanisms.end(), outcome.mechanisms.begin(),
                           outcome.mechanisms.end());
  for (const StartNote& note : outcome.notes) {
    add_difference("groups: the children have fewer: " + describe(note));
  }
}

void ProbeRun::leave_out(const Job& job, const std::string& why) {
  for (const std::size_t subject : job.subjects) {
    ProbedRuntime& runtime = facts_.runtimes[subject];
    if (!job.repeat) {
      runtime.skipped = why;
      continue;
    }
    StageResult note;
    note.side = ProbeSide::runner;
    note.detail = "not repeated alone: " + why;
    runtime.stages.push_back(std::move(note));
  }
}

void ProbeRun::refuse_all(const std::string& why) {
  StageResult start;
  start.outcome = StageOutcome::fail;
  start.side = ProbeSide::runner;
  start.detail = why;
  for (ProbedRuntime& runtime : facts_.runtimes) {
    if (runtime.skipped.empty()) runtime.stages = {start};
  }
}

void ProbeRun::add_difference(std::string text) {
  auto& all = facts_.differences;
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
}

/// What was run first, in that order; then the rest in the plan's.
void ProbeRun::order_as_run() {
  std::vector<ProbedRuntime> ordered;
  ordered.reserve(facts_.runtimes.size());
  for (const std::size_t subject : ran_) ordered.push_back(std::move(facts_.runtimes[subject]));
  for (std::size_t i = 0; i < facts_.runtimes.size(); ++i) {
    if (std::find(ran_.begin(), ran_.end(), i) == ran_.end()) {
      ordered.push_back(std::move(facts_.runtimes[i]));
    }
  }
  facts_.runtimes = std::move(ordered);
}

}  // namespace

ProbeFacts run_probe(const ProbePlan& plan, const ProbeRunOptions& options) {
  return ProbeRun(plan, options).run();
}

}  // namespace cudart_doctor
