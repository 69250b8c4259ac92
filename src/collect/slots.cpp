#include "cudart_doctor/collect/slots.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/memory_reading.hpp"
#include "cudart_doctor/sys/cached_source.hpp"

namespace cudart_doctor {
namespace {

using SlotsFact = Fact<std::vector<Slot>>;

/// Slots lie close together: one block holds 512.
constexpr std::size_t kBlock = 4096;

/// l_addr of every load of the object, each once: a forged list may name one a thousand times.
std::vector<std::uint64_t> load_biases(const std::vector<LinkNamespace>& namespaces,
                                       std::uint32_t object) {
  std::vector<std::uint64_t> out;
  for (const LinkNamespace& space : namespaces) {
    for (const LinkEntry& entry : space.entries) {
      if (entry.object == object) out.push_back(entry.load_bias);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Slot make_slot(const SlotPlace& place, std::uint64_t address, std::uint32_t owner,
               const AddressIndex& index) {
  Slot slot{place.name, place.version, address, false, {}};
  if (address == 0) return slot;
  const auto object = index.find(address);
  // The name is undefined here, so what lies in the object itself is its PLT.
  slot.bound = object != owner;
  if (slot.bound) slot.object = object;
  return slot;
}

}  // namespace

void read_slots(ByteSource& memory, const SlotPlaces& places, Snapshot& snapshot) {
  if (places.empty()) return;
  CachedSource cache(memory, kBlock);
  const AddressIndex index(snapshot.maps, snapshot.objects);
  const auto* namespaces = snapshot.link_map.get();
  std::size_t all = 0;
  std::size_t beyond = 0;
  const auto read = [&](std::uint32_t object, const std::vector<SlotPlace>& wanted) {
    if (namespaces == nullptr) {
      return SlotsFact::unknown("the loader's list could not be read: " +
                                snapshot.link_map.reason());
    }
    const auto biases = load_biases(*namespaces, object);
    if (biases.empty()) return SlotsFact::unknown("the loader's list does not have the object");
    if (biases.size() > kMaxSlotsOfObject / std::max<std::size_t>(wanted.size(), 1)) {
      return SlotsFact::unknown(count_of(wanted.size(), "slot") + " in each of " +
                                count_of(biases.size(), "load") + ": more than are read");
    }
    if (biases.size() * wanted.size() > kMaxSlots - all) {
      ++beyond;
      return SlotsFact::unknown("more slots than are read");
    }
    all += biases.size() * wanted.size();
    std::vector<Slot> slots;
    for (const std::uint64_t bias : biases) {
      for (const SlotPlace& place : wanted) {
        // l_addr is a difference: it wraps where an object lies below its linked address.
        auto address = read_value<std::uint64_t>(cache, bias + place.vaddr);
        if (!address) return SlotsFact::unknown(address.error().message);
        slots.push_back(make_slot(place, *address, object, index));
      }
    }
    return SlotsFact::known(std::move(slots));
  };
  for (const auto& [object, wanted] : places) {
    snapshot.objects[object].slots =
        wanted.is_known() ? read(object, *wanted.get()) : SlotsFact::unknown(wanted.reason());
  }
  if (beyond > 0) {
    snapshot.capture.notes.push_back("the slots of " + count_of(beyond, "object") +
                                     " were not read: there are more than " +
                                     std::to_string(kMaxSlots));
  }
}

}  // namespace cudart_doctor
