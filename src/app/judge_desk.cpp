#include "judge_desk.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

namespace cudart_doctor {
namespace {

constexpr std::size_t kMostAtOnce = 4;
/// A look has a deadline of its own; behind it and this it is given up.
constexpr std::chrono::seconds kGrace{5};

Judgement failure(std::string message) {
  Judgement judgement;
  judgement.failure = std::move(message);
  return judgement;
}

Judgement answer_of(const std::string& bytes) {
  auto judgement = parse_judgement(bytes);
  if (!judgement) return failure("the look at it did not end well");
  return std::move(*judgement);
}

}  // namespace

bool JudgeDesk::has(ImageId image) const {
  const auto is_it = [image](const JudgeOrder& order) { return order.image == image; };
  return std::ranges::any_of(waiting_, is_it) ||
         std::ranges::any_of(running_, is_it, &Running::order);
}

std::optional<JudgeAnswer> JudgeDesk::begin(const JudgeOrder& order) {
  // Yama lets only ancestors of a process read its memory: the launcher is one, its jobs are not.
  const std::string path = "/proc/" + std::to_string(order.pid) + "/mem";
  const UniqueFd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto work = [&] { return look_(order.pid, memory.get()); };
  auto job =
      ForkedJob::start(work, std::chrono::steady_clock::now() + timeout_ + kGrace, memory.get());
  if (!job) return JudgeAnswer{order, failure(job.error().message)};
  children_.insert(job->pid());
  running_.push_back({order, std::move(*job)});
  return std::nullopt;
}

std::vector<JudgeAnswer> JudgeDesk::take() {
  std::vector<JudgeAnswer> answers;
  const auto now = std::chrono::steady_clock::now();
  std::vector<Running> still;
  for (Running& each : running_) {
    if (each.job.pump()) {
      answers.push_back({each.order, answer_of(each.job.take())});
    } else if (now >= each.job.end()) {
      each.job.kill();
      answers.push_back({each.order, failure("the look at it did not end in time")});
    } else {
      still.push_back(std::move(each));
    }
  }
  running_ = std::move(still);
  while (running_.size() < kMostAtOnce && !waiting_.empty()) {
    const JudgeOrder order = waiting_.front();
    waiting_.pop_front();
    if (auto failed = begin(order)) answers.push_back(std::move(*failed));
  }
  return answers;
}

std::vector<int> JudgeDesk::descriptors() const {
  std::vector<int> out;
  out.reserve(running_.size());
  for (const Running& each : running_) out.push_back(each.job.descriptor());
  return out;
}

std::optional<SteadyTime> JudgeDesk::due() const {
  if (!waiting_.empty() && running_.size() < kMostAtOnce) return std::chrono::steady_clock::now();
  std::optional<SteadyTime> first;
  for (const Running& each : running_)
    first = std::min(first.value_or(each.job.end()), each.job.end());
  return first;
}

}  // namespace cudart_doctor
