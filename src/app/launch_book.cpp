#include "cudart_doctor/app/launch_book.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

LaunchBook::LaunchBook(Recording head, std::int64_t start, BookLimits limits)
    : head_(std::move(head)), start_(start), limits_(limits) {}

std::optional<ImageId> LaunchBook::image_of(std::int64_t pid) const {
  const auto found = newest_.find(pid);
  return found == newest_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ImageId> LaunchBook::add_image(const SeenProcess& seen, std::int64_t when) {
  if (images_.size() >= limits_.processes) {
    ++processes_dropped_;
    newest_.erase(seen.pid);
    return std::nullopt;
  }
  Image image;
  image.start_ticks = seen.start_ticks;
  image.process.pid = seen.pid;
  image.process.parent_pid = seen.parent_pid;
  image.process.began = std::max<std::int64_t>(when - start_, 0);
  image.process.executable = seen.executable;
  image.process.command_line = seen.command_line;
  images_.push_back(std::move(image));
  newest_[seen.pid] = images_.size() - 1;
  return images_.size() - 1;
}

void LaunchBook::forget(std::int64_t pid, ProcessEnd end) {
  const auto image = image_of(pid);
  if (!image) return;
  RecordedProcess& process = images_[*image].process;
  if (process.end == ProcessEnd::unknown) process.end = end;
  newest_.erase(pid);
}

std::optional<ImageId> LaunchBook::meet(const SeenProcess& seen, std::int64_t now) {
  const auto known = image_of(seen.pid);
  if (known) {
    Image& image = images_[*known];
    if (image.start_ticks == 0) image.start_ticks = seen.start_ticks;
    if (seen.start_ticks == 0 || image.start_ticks == seen.start_ticks) {
      // A process that was met too early or too late has shown nothing of itself yet.
      if (image.process.executable.empty()) image.process.executable = seen.executable;
      if (image.process.command_line.empty()) image.process.command_line = seen.command_line;
      return known;
    }
    forget(seen.pid, ProcessEnd::unknown);
  }
  return add_image(seen, now);
}

std::optional<ImageId> LaunchBook::started(const SeenProcess& seen, std::int64_t when) {
  auto image = meet(seen, when);
  if (image && images_[*image].started) image = replaced(seen, when);
  if (!image) return image;
  Image& it = images_[*image];
  it.started = true;
  it.process.recorded = true;
  it.process.unrecorded.clear();
  // It may have been met between fork and exec, as a copy of its parent.
  if (!seen.executable.empty()) it.process.executable = seen.executable;
  if (!seen.command_line.empty()) it.process.command_line = seen.command_line;
  return image;
}

std::optional<ImageId> LaunchBook::executes(const SeenProcess& seen, std::int64_t now) {
  const auto image = meet(seen, now);
  if (!image) return image;
  // Not by its arguments: a server writes its title over them.
  const bool same = images_[*image].process.executable == seen.executable;
  return same || seen.executable.empty() ? image : replaced(seen, now);
}

std::optional<ImageId> LaunchBook::replaced(const SeenProcess& seen, std::int64_t now) {
  const auto image = image_of(seen.pid);
  if (!image || images_[*image].told || images_[*image].worth) {
    forget(seen.pid, ProcessEnd::replaced_by_exec);
    return add_image(seen, now);
  }
  Image& it = images_[*image];
  it.started = false;
  it.process.recorded = false;
  it.process.traced = false;
  it.process.copy_of = 0;
  it.process.executable = seen.executable;
  it.process.command_line = seen.command_line;
  return image;
}

void LaunchBook::add(ImageId image, const WireRecord& record) {
  Image& it = images_[image];
  if (record.kind == WireKind::lost) {
    it.process.lost += record.lost;
    return;
  }
  it.started = true;
  it.process.recorded = true;
  it.process.unrecorded.clear();
  it.told = true;
  const LoadEvent& told = record.event;
  const bool family = is_cuda_name(told.path) || is_cuda_name(told.requested);
  it.worth = it.worth || (told.kind == LoadKind::load && family);
  if (events_.size() >= limits_.events) {
    ++dropped_;
    return;
  }
  LoadEvent event = told;
  event.pid = it.process.pid;
  event.nanoseconds = std::max<std::int64_t>(record.monotonic - start_, 0);
  events_.push_back(std::move(event));
}

void LaunchBook::ended(std::int64_t pid, int wait_status) {
  const auto image = image_of(pid);
  if (!image) return;
  RecordedProcess& process = images_[*image].process;
  const bool signalled = WIFSIGNALED(wait_status);
  process.end = signalled ? ProcessEnd::signalled : ProcessEnd::exited;
  process.status = signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void LaunchBook::note_limit(std::string sentence) {
  auto& limits = head_.limits;
  if (limits.size() >= limits_.sentences || std::ranges::count(limits, sentence) != 0) return;
  limits.push_back(std::move(sentence));
}

Recording LaunchBook::recording(std::int64_t now) const {
  Recording out = head_;
  out.duration = std::max<std::int64_t>(now - start_, 0);
  for (const Image& image : images_) out.processes.push_back(image.process);
  // Processes write side by side; each one's own records come in order.
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t i = 0; i < events_.size(); ++i) order.emplace_back(events_[i].nanoseconds, i);
  std::ranges::sort(order);
  for (const auto& [when, i] : order) out.events.push_back(events_[i]);
  out.events_dropped = dropped_;
  if (processes_dropped_ != 0) {
    out.limits.push_back(count_of(processes_dropped_, "process", "processes") +
                         " behind the first " + std::to_string(limits_.processes) +
                         " were not looked at");
  }
  return out;
}

}  // namespace cudart_doctor
