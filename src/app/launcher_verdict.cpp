// What the looks at processes come to: which of them the report is about, and the report.
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/launch_report.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "launcher.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kStopPatience{10};
/// The worker that makes the report has a deadline of its own; writing it to a file system that
/// does not answer has not.
constexpr seconds kReportGrace{5};
/// Snapshots of processes that may be judged again are kept; of more, who still lives is asked.
constexpr std::size_t kMostJudgements = 32;

}  // namespace

std::string Launcher::look(pid_t pid, int memory) const {
  Options one = options_;
  one.command = Command::inspect;
  one.pid = pid;
  // What is judged is the process without the recorder.
  Recording known = book_.head();
  known.judged_pid = pid;
  const auto end = steady_clock::now() + options_.timeout;
  const WorkResult result = supervised(
      {one, world_, end, &how_, &known, memory}, [](Report report, const JudgeOptions& judging) {
        Report& kept = kept_until_exit(std::move(report));
        judge(kept, judging);
        WorkResult out;
        out.output = write_judgement(judgement_of(std::move(kept)));
        return out;
      });
  if (result.message.empty()) return result.output;
  Judgement failure;
  failure.failure = result.message;
  return write_judgement(failure);
}

void Launcher::judge_living(JudgeMoment moment) {
  for (ImageId image = 0; image < book_.size(); ++image) {
    const RecordedProcess& process = book_.process(image);
    const bool lives = process.end == ProcessEnd::unknown && book_.image_of(process.pid) == image;
    if (!lives || !book_.is_worth_a_look(image) || desk_.has(image)) continue;
    desk_.order({image, static_cast<pid_t>(process.pid), moment, std::nullopt});
  }
}

void Launcher::settle(JudgeAnswer answer) {
  const JudgeOrder& order = answer.order;
  RecordedProcess& process = book_.process(order.image);
  const bool counts = answer.judgement.failure.empty();
  const bool found = counts && answer.judgement.end == RunEnd::findings;
  if (counts) {
    process.judged = order.moment;
    process.not_judged.clear();
    process.worst = answer.judgement.worst;
    process.findings = answer.judgement.findings;
    process.headline = answer.judgement.headline;
    process.undecided = answer.judgement.undecided;
    judgements_[order.image] = std::move(answer.judgement);
    forget_lighter_ones();
  } else if (process.judged == JudgeMoment::none) {
    process.not_judged = answer.judgement.failure;
  }
  if (found && request_.gate && phase_ == Phase::watching) fire_gate();
  // What the gate ended is not let on: it is killed where it waits.
  if (order.waiting && !end_.gated) {
    channel_->answer(*order.waiting, phase_ == Phase::watching ? kHold : kProceed);
  }
  if (held_.erase(order.pid) != 0) tracer_.release(order.pid);
}

void Launcher::forget_lighter_ones() {
  // A process that has ended is judged no more: of those only the gravest can become the report.
  const Judgement* const best = gravest();
  const bool many = judgements_.size() > kMostJudgements;
  std::erase_if(judgements_, [&](const auto& each) {
    const RecordedProcess& process = book_.process(each.first);
    const bool ended = process.end != ProcessEnd::unknown;
    // Nobody tells of the end of a grandchild that is not traced.
    const bool gone = ended || (many && look_at(tools_.proc, process.pid).start_ticks == 0);
    return &each.second != best && gone;
  });
}

const Judgement* Launcher::gravest() {
  const Judgement* best = nullptr;
  for (const auto& [image, judgement] : judgements_) {
    if (best == nullptr || is_graver(judgement, *best)) best = &judgement;
  }
  return best;
}

void Launcher::say_why_not_judged() {
  for (ImageId image = 0; image < book_.size(); ++image) {
    RecordedProcess& process = book_.process(image);
    if (process.end == ProcessEnd::unknown && book_.image_of(process.pid) == image) {
      const SeenProcess seen = look_at(tools_.proc, process.pid);
      if (seen.start_ticks != 0) process.end = ProcessEnd::running;
    }
    const Watch& watch = watches_[image];
    if (watch.cut_off && !watch.traced && !book_.is_worth_a_look(image)) {
      book_.note_limit("the recorder in PID " + std::to_string(process.pid) +
                       " lost its way to the doctor: what it loaded since was looked for in /proc");
    }
    const bool open = process.judged == JudgeMoment::none && process.not_judged.empty();
    if (!open || !book_.is_worth_a_look(image)) continue;
    process.not_judged = process.end == ProcessEnd::replaced_by_exec
                             ? "it executed another program before its end"
                             : "it ended before it could be looked at";
  }
  if (foreign_ != 0) {
    book_.note_limit("records of processes that are not of this command were left out");
  }
}

void Launcher::begin_report() {
  if (!hear_rest()) {
    book_.note_limit("records still came when the report was made: the last are not in it");
  }
  say_why_not_judged();
  Recording recording = book_.recording(monotonic_now());
  const Judgement* const chosen = gravest();
  for (const auto& [image, judgement] : judgements_) {
    if (&judgement == chosen) recording.judged_pid = book_.process(image).pid;
  }
  if (command_ended_) {
    const bool signalled = WIFSIGNALED(end_.wait_status);
    recording.end = signalled ? ProcessEnd::signalled : ProcessEnd::exited;
    recording.status = signalled ? WTERMSIG(end_.wait_status) : WEXITSTATUS(end_.wait_status);
  } else {
    recording.end = ProcessEnd::running;
  }
  recording.stopped = !command_ended_ && request_.then == AfterReady::stop;
  const auto work = [&]() -> std::string {
    return std::to_string(
        int(report_launch(options_, world_, how_, {std::move(recording), chosen})));
  };
  auto job = ForkedJob::start(work, steady_clock::now() + options_.timeout + kReportGrace);
  if (job) {
    report_pid_ = job->pid();
    report_.emplace(std::move(*job));
  } else {
    world_.complain(job.error().message);
  }
  phase_ = Phase::reporting;
}

void Launcher::tend_report() {
  RunEnd reported = RunEnd::usage;
  if (report_) {
    const bool late = steady_clock::now() >= report_->end();
    if (!report_->pump() && !late) return;
    if (late) report_->kill();
    // It has closed its pipe and is about to end.
    if (wait_until(report_pid_, steady_clock::now() + seconds(1))) report_pid_ = 0;
    const std::string bytes = report_->take();
    int value = 0;
    const auto parsed = std::from_chars(bytes.data(), bytes.data() + bytes.size(), value);
    if (parsed.ec == std::errc() && value >= 0 && value <= int(RunEnd::undecided)) {
      reported = static_cast<RunEnd>(value);
    } else {
      world_.complain(late ? "the report was not written in time" : "the report was not written");
    }
    report_.reset();
  }
  judgements_.clear();
  end_.verdict = reported;
  const Recording& head = book_.head();
  end_.never_ready = command_ended_ && !head.ready_when.empty() && !head.ready;
  if (command_ended_ || end_.gated) {
    phase_ = Phase::over;
  } else if (request_.then == AfterReady::stop) {
    end_.stopped = true;
    begin_ending(kStopPatience);
  } else {
    for (const pid_t pid : std::exchange(held_, {})) tracer_.release(pid);
    for (ImageId image = 0; image < book_.size(); ++image) {
      const auto pid = static_cast<pid_t>(book_.process(image).pid);
      if (tracer_.is_traced(pid)) tracer_.let_go(pid);
    }
    phase_ = Phase::keeping;
  }
}

}  // namespace cudart_doctor
