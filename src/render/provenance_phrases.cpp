#include "render/provenance_phrases.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/model/loader_spaces.hpp"
#include "render/describe.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

std::string file_of(const Report& report, std::size_t object) {
  const LoadedObject* found = object_of(report, object);
  return found == nullptr ? std::string("?") : escape_foreign(base_name(found->path()));
}

std::string with_rest(std::vector<std::string> items, std::size_t most) {
  const std::size_t rest = items.size() > most ? items.size() - most : 0;
  items.resize(items.size() - rest);
  return join(items, ", ") + (rest == 0 ? "" : " and " + std::to_string(rest) + " more");
}

std::string ordinal(std::size_t number) {
  const std::size_t tens = number % 100;
  const char* ending = "th";
  if (tens < 11 || tens > 13) {
    if (number % 10 == 1) ending = "st";
    if (number % 10 == 2) ending = "nd";
    if (number % 10 == 3) ending = "rd";
  }
  return std::to_string(number) + ending;
}

/// Place of the candidate among the runtimes of its namespace by load order, from 1; nothing where
/// addresses have the same order, or load order is not known.
std::optional<std::size_t> place_by_load(const Report& report, std::size_t candidate) {
  const Provenance& own = provenance_of(report, candidate);
  std::vector<std::uint32_t> places;  // By address.
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Provenance& each = provenance_of(report, i);
    const bool is_copy = report.candidates[i].kind == RuntimeKind::static_copy;
    if (is_copy || !each.load_order || each.loader_namespace != own.loader_namespace) continue;
    places.push_back(*each.load_order);
  }
  if (!own.load_order || std::is_sorted(places.begin(), places.end())) return std::nullopt;
  return static_cast<std::size_t>(std::count_if(
      places.begin(), places.end(), [&](auto place) { return place <= *own.load_order; }));
}

std::string arrival_phrase(const Report& report, const Provenance& own, std::size_t most) {
  std::vector<std::string> needers;
  for (const NeededBy& each : own.needed_by) needers.push_back(file_of(report, each.object));
  switch (own.arrival) {
    case Arrival::program: return "the program itself";
    case Arrival::preload: return "preloaded: " + printable(own.arrival_note);
    case Arrival::opened:
      // Of an environment alone: the child that looked opened it.
      return report.snapshot.environment_only ? "" : "dlopened, no library lists it";
    case Arrival::needed:
    case Arrival::unknown: break;
  }
  return needers.empty() ? std::string() : "needed by " + with_rest(std::move(needers), most);
}

/// Those that use most names first.
std::string use_phrase(const Report& report, const Provenance& own, std::size_t most) {
  std::vector<const SlotUse*> uses;
  for (const SlotUse& use : own.used_by) uses.push_back(&use);
  if (uses.empty()) return {};
  std::ranges::sort(uses, [](const SlotUse* a, const SlotUse* b) {
    const std::size_t left = a->names.size();
    const std::size_t right = b->names.size();
    return left != right ? left > right : a->object < b->object;
  });
  std::vector<std::string> users;
  for (const SlotUse* use : uses) {
    users.push_back(file_of(report, use->object) + " (" + count_of(use->names.size(), "name") +
                    ")");
  }
  return "used by " + with_rest(std::move(users), most);
}

}  // namespace

const Provenance& provenance_of(const Report& report, std::size_t candidate) {
  static const Provenance kNothing;
  return candidate < report.provenance.size() ? report.provenance[candidate] : kNothing;
}

std::vector<std::string> provenance_phrases(const Report& report, std::size_t candidate,
                                            std::size_t most) {
  const Provenance& own = provenance_of(report, candidate);
  std::vector<std::string> out;
  const auto add = [&](std::string phrase) {
    if (!phrase.empty()) out.push_back(std::move(phrase));
  };
  add(arrival_phrase(report, own, most));
  const auto object = report.candidates[candidate].object;
  const std::size_t spaces =
      object ? loader_namespaces_of(report.snapshot, *object).size() : std::size_t{0};
  if (spaces > 1) {
    add("loaded " + std::to_string(spaces) + " times, in as many loader namespaces (dlmopen)");
  } else if (own.loader_namespace != 0) {
    add("in loader namespace " + std::to_string(own.loader_namespace) + " (dlmopen)");
  }
  if (const auto place = place_by_load(report, candidate)) {
    add(ordinal(*place) + " in load order");
  }
  add(use_phrase(report, own, most));
  return out;
}

}  // namespace cudart_doctor
