#include "cudart_doctor/collect/read_objects.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <vector>

#include "cudart_doctor/collect/object_reader.hpp"
#include "cudart_doctor/collect/together.hpp"

namespace cudart_doctor {
namespace {

/// The indices of the objects, large ones first: one that takes as long as all others together must
/// not be what one thread begins with when the other has nothing left.
std::vector<std::uint32_t> reading_order(const Snapshot& snapshot) {
  constexpr std::uint64_t kSmall = 4U << 20U;  // Takes no time to speak of, whatever is asked.
  std::vector<std::uint64_t> sizes;
  sizes.reserve(snapshot.objects.size());
  for (const LoadedObject& object : snapshot.objects) {
    std::uint64_t size = 0;
    for (const std::uint32_t row : object.rows) {
      size += snapshot.maps.rows[row].hi - snapshot.maps.rows[row].lo;
    }
    sizes.push_back(std::max(size, kSmall));
  }
  std::vector<std::uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::uint32_t index) { return sizes[index]; });
  return order;
}

/// The objects that are still to be read, and what came of the others.
class Queue {
 public:
  explicit Queue(Snapshot& snapshot)
      : snapshot_(snapshot), order_(reading_order(snapshot)), outcomes_(order_.size()) {}

  /// Reads the next object; false where none is left.
  bool read_next(ObjectReader& reader) {
    const std::size_t turn = next_.fetch_add(1, std::memory_order_relaxed);
    if (turn >= order_.size()) return false;
    const std::uint32_t index = order_[turn];
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
  std::vector<std::uint32_t> order_;
  std::vector<ReadOutcome> outcomes_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> places_{0};
};

}  // namespace

SlotPlaces read_objects(const CaptureContext& context, ProcessMemory& memory, Snapshot& snapshot,
                        const std::function<void()>& meanwhile) {
  Queue queue(snapshot);
  ObjectReader reader(context, memory);
  // What the first file tells of map_files holds for both readers.
  while (!reader.knows_route() && queue.read_next(reader)) {
  }
  const auto own = [&] {
    meanwhile();
    queue.read_rest(reader);
  };
  const ObjectReader::Route route = reader.route();
  run_together(context, own, [&, pid = memory.pid()](const CaptureContext& second) {
    ProcessMemory second_memory = second.memory(pid);
    ObjectReader second_reader(second, second_memory);
    second_reader.learn(route);
    queue.read_rest(second_reader);
  });
  return queue.count_all();
}

}  // namespace cudart_doctor
