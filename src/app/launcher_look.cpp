// The launcher's own looks at the processes of the command: for what the recorder cannot tell.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cudart_doctor/sys/clock.hpp"
#include "launcher.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Looks cost at most a fiftieth of one CPU.
constexpr int kRest = 50;
constexpr milliseconds kUsualPause{250};
/// Between two looks at one process whose recorder tells.
constexpr milliseconds kLongestPause{2000};
constexpr char kSilent[] =
    "its recorder told nothing of what it loaded, and may have lost its way to the doctor";
/// Where a condition waits for what only a look can tell.
constexpr milliseconds kShortPause{50};

/// Orphans below the launcher are its children: without any there is nobody below it, and /proc,
/// which may be large, need not be gone through.
bool has_children() {
  siginfo_t ended = {};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

}  // namespace

std::string why_unrecorded(Recordable recordable) {
  switch (recordable) {
    case Recordable::no_static: return "a static program";
    case Recordable::no_libc: return "another C library than glibc";
    case Recordable::no_other_class: return "a program for another kind of processor";
    case Recordable::no_set_id: return "a set-ID program, in which the loader ignores LD_AUDIT";
    case Recordable::yes:
      return "LD_AUDIT did not reach it, or its loader does not find the recorder";
    case Recordable::unknown: break;
  }
  return "its program could not be read";
}

std::vector<TreeProcess> Launcher::own_processes() const {
  if (!has_children()) return {};
  auto all = descendants(::getpid(), tools_.proc.path());
  if (!all) return {};
  std::set<pid_t> ours = desk_.children();
  if (report_pid_ != 0) ours.insert(report_pid_);
  std::erase_if(*all, [&ours](const TreeProcess& each) {
    // Parents come first: what the doctor's own children started is known by then.
    const bool own = ours.contains(each.pid) || ours.contains(each.parent);
    if (own) ours.insert(each.pid);
    return own || each.state == 'Z' || each.state == 'X';
  });
  return std::move(*all);
}

void Launcher::look_around(Depth depth) {
  const auto before = steady_clock::now();
  const auto processes = own_processes();
  for (const TreeProcess& each : processes) look_closer(each, depth);
  const ReadyCondition& ready = ready_.condition();
  if (ready.kind == ReadyKind::port && one_listens(tools_.proc, processes, ready.port)) {
    ready_.seen();
  }
  const bool looks_for = ready.kind == ReadyKind::port || ready.kind == ReadyKind::mapped;
  const auto after = steady_clock::now();
  next_look_ = after + std::max<steady_clock::duration>(looks_for ? kShortPause : kUsualPause,
                                                        (after - before) * kRest);
}

bool Launcher::is_due(ImageId image, Depth depth) {
  if (book_.is_worth_a_look(image) || book_.process(image).copy_of != 0) return false;
  return depth == Depth::all || steady_clock::now() >= watches_[image].next_maps;
}

void Launcher::look_closer(const TreeProcess& process, Depth depth) {
  const ReadyCondition& ready = ready_.condition();
  const bool looks_for_text = ready.kind == ReadyKind::mapped;
  auto image = book_.image_of(process.pid);
  if (image) {
    // A program without the recorder may have been executed since.
    const auto program = tools_.proc.read_link(std::to_string(process.pid) + "/exe");
    Watch& watch = watches_[*image];
    const bool news = program && watch.executable_now != *program;
    const bool told = book_.process(*image).recorded;
    if (told && !news && !looks_for_text && !is_due(*image, depth)) return;
    if (news) {
      watch.executable_now = *program;
      watch.was_clean = watch.suspect = watch.silent = false;
    }
  }
  const SeenProcess seen = look_at(tools_.proc, process.pid);
  if (seen.start_ticks != process.start_ticks) return;  // It ended.
  image = book_.executes(seen, monotonic_now());
  if (!image) return;
  const MapsQuestion question{tools_.recorder ? tools_.recorder->library() : "", ready.text};
  const MapsLook look = look_into_maps(tools_.proc, process.pid, question);
  if (look.text && looks_for_text) ready_.seen();
  if (!look.readable) return;
  if (book_.process(*image).recorded && !look.recorder) {
    // Its start was told by a program that it has left since, for one that does not tell.
    image = book_.replaced(seen, monotonic_now());
    if (!image) return;
  }
  RecordedProcess& entry = book_.process(*image);
  if (look.recorder) return look_at_recorded(*image, look, depth);
  if (entry.unrecorded.empty()) {
    entry.unrecorded = why_unrecorded(recordable("/proc/" + std::to_string(process.pid) + "/exe"));
  }
  if (look.family && !book_.is_worth_a_look(*image)) found_unrecorded(*image, process.pid);
}

void Launcher::look_at_recorded(ImageId image, const MapsLook& look, Depth depth) {
  Watch& watch = watches_[image];
  if (watch.silent) return;
  RecordedProcess& entry = book_.process(image);
  entry.recorded = true;
  entry.unrecorded.clear();
  if (book_.is_worth_a_look(image) || entry.copy_of != 0) return;
  watch.pause = std::clamp(watch.pause * 2, kUsualPause, kLongestPause);
  if (!look.family) {
    watch.was_clean = true;
    watch.suspect = false;
    check_way(image);
  } else if (is_copy(image)) {
    entry.copy_of = origin_of(entry);
  } else if (watch.suspect || depth == Depth::all) {
    watch.silent = true;
    entry.recorded = false;
    entry.unrecorded = kSilent;
    found_unrecorded(image, static_cast<pid_t>(entry.pid));
  } else {
    // It may be in the middle of its dlopen.
    watch.suspect = true;
    watch.pause = kUsualPause;
  }
  if (watch.cut_off) watch.pause = kUsualPause;
  watch.next_maps = steady_clock::now() + watch.pause;
}

/// One that cannot tell is held before its end, where its maps tell.
void Launcher::check_way(ImageId image) {
  Watch& watch = watches_[image];
  const auto pid = static_cast<pid_t>(book_.process(image).pid);
  if (watch.cut_off || can_reach(tools_.proc, pid, tools_.recorder->socket())) return;
  watch.cut_off = true;
  trace(image, pid);
}

/// A forked process has what its parent had then.
bool Launcher::is_copy(ImageId image) {
  if (book_.has_started(image) || watches_[image].was_clean) return false;
  const auto parent = book_.image_of(book_.process(image).parent_pid);
  return parent && (book_.is_worth_a_look(*parent) || book_.process(*parent).copy_of != 0);
}

std::int64_t Launcher::origin_of(const RecordedProcess& copy) const {
  const auto parent = book_.image_of(copy.parent_pid);
  const std::int64_t further = parent ? book_.process(*parent).copy_of : 0;
  return further != 0 ? further : copy.parent_pid;
}

void Launcher::found_unrecorded(ImageId image, pid_t pid) {
  book_.found_by_look(image);
  ready_.loaded({}, steady_clock::now());
  const bool traced = trace(image, pid);
  if (phase_ == Phase::watching && (request_.gate || !traced)) {
    desk_.order({image, pid, JudgeMoment::load, std::nullopt});
  }
}

}  // namespace cudart_doctor
