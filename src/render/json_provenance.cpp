// Who brought a runtime, who uses it, and global_names, of the JSON report.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"
#include "render/provenance_phrases.hpp"

namespace cudart_doctor {
namespace {

Json path_of(const Report& report, std::size_t object) {
  const LoadedObject* found = object_of(report, object);
  return found == nullptr ? Json(nullptr) : json_bytes(found->path());
}

Json needed_by_part(const Report& report, const Provenance& own) {
  Json list = Json::array();
  for (const NeededBy& each : own.needed_by) {
    Json out;
    out["path"] = path_of(report, each.object);
    out["soname"] = json_bytes(each.soname);
    list.push_back(std::move(out));
  }
  return list;
}

Json used_by_part(const Report& report, const Provenance& own) {
  Json list = Json::array();
  for (const SlotUse& use : own.used_by) {
    Json out;
    out["path"] = path_of(report, use.object);
    out["names"] = json_bytes_list(use.names);
    list.push_back(std::move(out));
  }
  return list;
}

/// Why the slots of objects that refer to the runtime could not be read; "" where those of one
/// could, or nobody refers to it.
std::string slots_reason(const Snapshot& snapshot) {
  std::string reason;
  for (const LoadedObject& object : snapshot.objects) {
    if (object.slots.is_known()) return {};
    if (object.slots.is_unknown() && reason.empty()) reason = object.slots.reason();
  }
  return reason;
}

/// Why nobody can be said not to use the runtime: a library that lists no CUDA library may bind to
/// it through global scope, and its names are read on request only. "" where all were read.
std::string unread_users_reason(const Snapshot& snapshot) {
  const auto skipped = std::ranges::count_if(snapshot.objects, [](const LoadedObject& object) {
    const ElfFacts* elf = object.elf.get();
    return object.executable && elf != nullptr && !elf->symbols_walked;
  });
  if (skipped == 0) return {};
  return "the names that " +
         count_of(static_cast<std::uint64_t>(skipped), "loaded library", "loaded libraries") +
         " may use of it were not read; --deep reads them";
}

Json runtime_of(const Report& report, std::size_t object) {
  const auto refs = candidate_refs(report);
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const bool is_copy = report.candidates[i].kind == RuntimeKind::static_copy;
    if (!is_copy && report.candidates[i].object == object) return refs[i];
  }
  return nullptr;
}

}  // namespace

void put_provenance(Json& out, const Report& report, std::size_t candidate) {
  const Provenance& own = provenance_of(report, candidate);
  const std::string& note = own.arrival_note;
  if (own.load_order) {
    put_known(out, "loader_namespace", own.loader_namespace);
    put_known(out, "load_order", *own.load_order);
  } else {
    const std::string reason = note.empty() ? "not in the loader's list" : note;
    put_unknown(out, "loader_namespace", reason);
    put_unknown(out, "load_order", reason);
  }
  if (own.arrival == Arrival::unknown) {
    put_unknown(out, "arrival", note.empty() ? "not asked" : note);
    out["arrival_note"] = nullptr;
  } else {
    put_known(out, "arrival", name_of(own.arrival));
    out["arrival_note"] = json_sentence_or_null(note);
  }
  const bool in_doubt =
      own.arrival == Arrival::unknown && report.candidates[candidate].loaded && !note.empty();
  if (own.needed_by.empty() && in_doubt) {
    put_unknown(out, "needed_by", note);
  } else {
    put_known(out, "needed_by", needed_by_part(report, own));
  }
  std::string reason = slots_reason(report.snapshot);
  if (reason.empty() && report.candidates[candidate].loaded) {
    reason = unread_users_reason(report.snapshot);
  }
  if (reason.empty() || !own.used_by.empty()) {
    put_known(out, "used_by", used_by_part(report, own));
  } else {
    put_unknown(out, "used_by", reason);
  }
}

Json json_global_names(const Report& report) {
  Json list = Json::array();
  for (const GlobalName& row : report.global_names) {
    Json out;
    out["name"] = json_bytes(row.name);
    if (row.definer) {
      put_known(out, "definer", path_of(report, *row.definer));
    } else {
      put_unknown(out, "definer",
                  row.possible.empty()
                      ? "no loaded object defines it"
                      : "whether an opened library is global does not show from outside");
    }
    out["runtime"] = row.definer ? runtime_of(report, *row.definer) : Json(nullptr);
    out["version"] = json_bytes_or_null(row.version);
    out["possible"] = Json::array();
    for (const std::size_t object : row.possible)
      out["possible"].push_back(path_of(report, object));
    list.push_back(std::move(out));
  }
  return list;
}

}  // namespace cudart_doctor
