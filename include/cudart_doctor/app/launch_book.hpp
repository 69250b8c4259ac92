// The bookkeeping of `run`: what its processes are, what each loaded, how each ended. Pure: the
// launcher tells what it heard; kept within limits whatever a command does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/formats/recorder_wire.hpp"
#include "cudart_doctor/model/recording.hpp"

namespace cudart_doctor {

/// Names one program in one process for the whole of a launch: a PID that is used again is another
/// image, and so is a process that executes another program after it has told of objects. One that
/// told of none is as good as never having been the program before.
using ImageId = std::size_t;

struct BookLimits {
  std::size_t events = 100'000;
  std::size_t processes = 10'000;
  std::size_t sentences = 50;  ///< In Recording::limits.
};

/// What /proc tells of a process when it is met.
struct SeenProcess {
  std::int64_t pid = 0;
  std::int64_t parent_pid = 0;
  std::uint64_t start_ticks = 0;  ///< Field 22 of stat; 0: not known, it is gone.
  std::string executable;         ///< As bytes; "" where it is not known.
  std::vector<std::string> command_line;
};

class LaunchBook {
 public:
  /// `head` has what is known before the start; `start` is CLOCK_MONOTONIC then, in nanoseconds.
  LaunchBook(Recording head, std::int64_t start, BookLimits limits = {});

  /// The newest image of `pid`; one that has ended is found until the PID is met again.
  [[nodiscard]] std::optional<ImageId> image_of(std::int64_t pid) const;
  /// The image of `seen`: the known one, or a new one where the PID belongs to another process now.
  /// `now` as `start`. Nothing behind the limit of processes.
  std::optional<ImageId> meet(const SeenProcess& seen, std::int64_t now);
  /// A `start` record: a new image, unless `seen` was met and has not started yet.
  std::optional<ImageId> started(const SeenProcess& seen, std::int64_t when);
  /// It executes another program than the one in the book, as /proc tells; the same one is no news.
  std::optional<ImageId> executes(const SeenProcess& seen, std::int64_t now);
  /// It executes another program for certain.
  std::optional<ImageId> replaced(const SeenProcess& seen, std::int64_t now);

  /// A load or an unload of `image`.
  void add(ImageId image, const WireRecord& record);
  /// How the newest image of `pid` ended; `status` as from wait.
  void ended(std::int64_t pid, int wait_status);

  [[nodiscard]] RecordedProcess& process(ImageId image) { return images_[image].process; }
  [[nodiscard]] const RecordedProcess& process(ImageId image) const {
    return images_[image].process;
  }
  [[nodiscard]] std::size_t size() const { return images_.size(); }
  /// Whether it loaded something of the CUDA family: by name, or by what the recorder found in it,
  /// which asks how to go on there. A hook alone says nothing of a process.
  [[nodiscard]] bool is_worth_a_look(ImageId image) const { return images_[image].worth; }
  /// Whether a program was started in it, as its recorder told; false for a forked copy.
  [[nodiscard]] bool has_started(ImageId image) const { return images_[image].started; }
  /// Its recorder asks how to go on.
  void asks(ImageId image) { images_[image].worth = true; }
  /// It maps something of the CUDA family that nobody told of.
  void found_by_look(ImageId image) { images_[image].worth = true; }

  /// Adds a sentence to the limits, once.
  void note_limit(std::string sentence);
  /// The recording so far; `now` as `start`.
  [[nodiscard]] Recording recording(std::int64_t now) const;
  [[nodiscard]] Recording& head() { return head_; }
  [[nodiscard]] const Recording& head() const { return head_; }

 private:
  struct Image {
    RecordedProcess process;
    std::uint64_t start_ticks = 0;
    bool started = false;  ///< A `start` record or a load told of it.
    bool told = false;     ///< Of an object.
    bool worth = false;
  };
  std::optional<ImageId> add_image(const SeenProcess& seen, std::int64_t when);
  /// The newest image of `pid` is no more, and how is not known.
  void forget(std::int64_t pid, ProcessEnd end);

  Recording head_;
  std::int64_t start_;
  BookLimits limits_;
  std::vector<Image> images_;
  std::map<std::int64_t, ImageId> newest_;
  std::vector<LoadEvent> events_;
  std::uint64_t dropped_ = 0;
  std::uint64_t processes_dropped_ = 0;
};

}  // namespace cudart_doctor
