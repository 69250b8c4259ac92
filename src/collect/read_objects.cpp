#include "cudart_doctor/collect/read_objects.hpp"

#include <sched.h>

#include <atomic>
#include <future>
#include <optional>
#include <system_error>
#include <vector>

#include "cudart_doctor/collect/object_reader.hpp"
#include "cudart_doctor/collect/read_maps.hpp"

namespace cudart_doctor {
namespace {

/// Fewer objects are read before a thread has started.
constexpr std::size_t kWorthHelp = 32;

bool has_two_cpus() {
  cpu_set_t set;
  // It fails where there are more CPUs than the set can hold.
  return ::sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

/// The objects that are still to be read, and what came of the others.
class Queue {
 public:
  explicit Queue(Snapshot& snapshot) : snapshot_(snapshot), outcomes_(snapshot.objects.size()) {}

  /// Reads the next object; false where none is left.
  bool read_next(ObjectReader& reader) {
    const std::size_t index = next_.fetch_add(1, std::memory_order_relaxed);
    if (index >= outcomes_.size()) return false;
    ReadOutcome outcome = reader.read(snapshot_.objects[index], snapshot_.maps);
    limit(outcome.slots);
    outcomes_[index] = std::move(outcome);
    return true;
  }

  void read_rest(ObjectReader& reader) {
    while (read_next(reader)) {
    }
  }

  /// In the order of the objects, whoever read them.
  SlotPlaces count_all() {
    SlotPlaces places;
    for (std::uint32_t i = 0; i < outcomes_.size(); ++i) {
      if (outcomes_[i].slots.is_asked()) places[i] = std::move(outcomes_[i].slots);
      count(snapshot_.capture, std::move(outcomes_[i]));
    }
    return places;
  }

 private:
  /// Far more than are read from memory in the end: until then all are held.
  void limit(Fact<std::vector<SlotPlace>>& slots) {
    if (!slots.is_known()) return;
    const std::size_t size = slots.get()->size();
    if (places_.fetch_add(size, std::memory_order_relaxed) + size <= kMaxPlaces) return;
    slots = Fact<std::vector<SlotPlace>>::unknown("more slots than are read");
  }

  static constexpr std::size_t kMaxPlaces = std::size_t{8} * kMaxSlots;
  Snapshot& snapshot_;
  std::vector<ReadOutcome> outcomes_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> places_{0};
};

/// What the second thread has of its own.
struct Helper {
  CaptureContext context;
  ProcessMemory memory;
  ObjectReader reader;

  Helper(const CaptureContext& first, const ProcessMemory& first_memory)
      : context{first.options, first.rules, first.process, first.files,
                first.options.helper_progress},
        memory(first.process, first_memory.pid()),
        reader(context, memory) {}

  void work(Queue& queue) {
    queue.read_rest(reader);
    context.rest();
  }
};

/// An empty future where the system gives no thread.
std::future<void> start(Helper& helper, Queue& queue) {
  try {
    return std::async(std::launch::async, [&helper, &queue] { helper.work(queue); });
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace

unsigned reader_threads(const CaptureContext& context) {
  return context.options.helper_progress && has_two_cpus() ? 2 : 1;
}

SlotPlaces read_objects(const CaptureContext& context, ProcessMemory& memory, Snapshot& snapshot) {
  snapshot.objects = group_objects(snapshot.maps);
  Queue queue(snapshot);
  ObjectReader reader(context, memory);
  // What the first file tells of map_files holds for both readers.
  while (!reader.knows_route() && queue.read_next(reader)) {
  }
  std::optional<Helper> helper;
  std::future<void> helped;
  if (snapshot.objects.size() >= kWorthHelp && reader_threads(context) > 1) {
    helper.emplace(context, memory);
    helper->reader.learn_route(reader);
    helped = start(*helper, queue);
  }
  queue.read_rest(reader);
  if (helped.valid()) {
    context.rest();
    helped.get();
  }
  return queue.count_all();
}

}  // namespace cudart_doctor
