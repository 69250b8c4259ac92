// runtimes, companions, installed and link_map of the JSON report: what is there.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

/// Why a fact that lives in the ELF file is not there: unread, or read and not in it.
std::string elf_reason(const Report& report, std::optional<std::size_t> object,
                       const std::string& path) {
  const Fact<ElfFacts>* elf = nullptr;
  if (const LoadedObject* mapped = object_of(report, object)) {
    elf = &mapped->elf;
  } else if (const auto entry = report.snapshot.disk.find(path);
             entry != report.snapshot.disk.end()) {
    elf = &entry->second.elf;
  }
  if (elf == nullptr) return "the file was not read";
  return elf->is_known() ? "the object carries none" : elf->reason();
}

void put_place(Json& out, const Report& report, std::optional<std::size_t> index,
               const std::string& path) {
  const LoadedObject* object = object_of(report, index);
  out["path"] = json_bytes(path);
  out["mapped"] = object != nullptr;
  out["address"] = object != nullptr ? Json(json_address(object->lowest)) : Json(nullptr);
  const FileKey* key = object != nullptr ? &object->key : nullptr;
  if (const auto entry = report.snapshot.disk.find(path);
      key == nullptr && entry != report.snapshot.disk.end() && entry->second.key.is_file()) {
    key = &entry->second.key;
  }
  if (key != nullptr) {
    put_known(out, "device", json_device(*key));
    put_known(out, "inode", key->inode);
  } else {
    put_unknown(out, "device", "the file was not examined");
    put_unknown(out, "inode", "the file was not examined");
  }
}

Json path_now(const LoadedObject* object) {
  if (object == nullptr || !object->path_now) return nullptr;
  Json out;
  out["device"] = json_device(*object->path_now);
  out["inode"] = object->path_now->inode;
  if (object->path_now_build_id) {
    put_known(out, "build_id", json_bytes(*object->path_now_build_id));
  } else {
    put_unknown(out, "build_id", "not read, or the file carries none");
  }
  return out;
}

/// File state and how the bytes were reached; null throughout for a file that is not mapped.
void put_state(Json& out, const LoadedObject* object) {
  out["state"] = object != nullptr ? Json(name_of(object->state)) : Json(nullptr);
  out["state_note"] = object != nullptr ? json_sentence_or_null(object->state_note) : Json(nullptr);
  out["marked_deleted"] = object != nullptr && object->marked_deleted;
  out["path_now"] = path_now(object);
  out["read_route"] = object != nullptr ? Json(name_of(object->route)) : Json(nullptr);
  out["read_route_note"] =
      object != nullptr ? json_sentence_or_null(object->route_note) : Json(nullptr);
}

Json other_paths(const LoadedObject* object, const std::string& path) {
  Json list = Json::array();
  if (object == nullptr) return list;
  for (const auto& other : object->paths) {
    if (other != path) list.push_back(json_bytes(other));
  }
  return list;
}

void put_identity(Json& out, const Candidate& candidate, const std::string& reason) {
  put_text(out, "soname", candidate.soname, reason);
  put_text(out, "version", candidate.version,
           candidate.kind == RuntimeKind::genuine || candidate.kind == RuntimeKind::static_copy
               ? "no sign of the version was found"
               : "a version belongs to a genuine runtime");
  out["version_from"] = json_sentence_or_null(candidate.version_from);
  if (candidate.major) {
    put_known(out, "major", *candidate.major);
  } else {
    put_unknown(out, "major", "not known from the contents");
  }
  if (candidate.build_id) {
    put_known(out, "build_id", json_bytes(*candidate.build_id));
  } else {
    put_unknown(out, "build_id", reason);
  }
}

void put_symbols(Json& out, const Candidate& candidate) {
  if (candidate.exports_known) {
    put_known(out, "exported", candidate.exported);
    put_known(out, "missing", json_bytes_list(candidate.missing));
  } else {
    put_unknown(out, "exported", "its symbols could not be read");
    put_unknown(out, "missing", "its symbols could not be read");
  }
  out["names_asked"] = candidate.names_asked;
}

void put_owner(Json& out, const Snapshot& snapshot, const std::string& path) {
  const auto found = snapshot.owners.find(path);
  const FileOwner* owner = found == snapshot.owners.end() ? nullptr : found->second.get();
  if (owner == nullptr) {
    put_unknown(out, "owner",
                found == snapshot.owners.end()
                    ? "not asked: only of what is a CUDA library by name or by its own exports"
                    : found->second.reason());
  } else if (owner->package.empty()) {
    put_unknown(out, "owner", "the package databases were read, and none lists the path");
  } else {
    Json part;
    part["kind"] = name_of(owner->kind);
    part["package"] = json_bytes(owner->package);
    put_text(part, "version", owner->version,
             "the records do not tell it, could not be read, or do not agree: see the notes");
    put_known(out, "owner", std::move(part));
  }
  // Null with a reason can mean both: only this tells nobody's file from an unknown owner.
  out["unowned"] = owner != nullptr && owner->package.empty();
}

Json candidate_part(const Report& report, std::size_t index, const std::string& ref) {
  const Candidate& candidate = report.candidates[index];
  const LoadedObject* object = object_of(report, candidate.object);
  Json out;
  out["ref"] = ref;
  out["kind"] = name_of(candidate.kind);
  out["label"] = json_sentence_or_null(candidate.label);
  out["loaded"] = candidate.loaded;
  put_place(out, report, candidate.object, candidate.path);
  out["other_paths"] = other_paths(object, candidate.path);
  put_state(out, object);
  put_identity(out, candidate, elf_reason(report, candidate.object, candidate.path));
  put_symbols(out, candidate);
  out["vendored"] = candidate.vendored;
  out["soname_disagrees"] = candidate.soname_disagrees;
  out["selectable_by_name"] = candidate.selectable_by_name;
  put_text(out, "package", candidate.package, "no distribution that owns it was found");
  put_owner(out, report.snapshot, candidate.path);
  put_provenance(out, report, index);
  out["evidence"] = json_sentence_list(candidate.evidence);
  return out;
}

template <typename Items>
Json index_of_object(const Items& items, std::optional<std::uint32_t> object) {
  if (!object) return nullptr;
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const auto& item) { return item.object == *object; });
  return found == items.end() ? Json(nullptr) : Json(found - items.begin());
}

}  // namespace

Json json_runtimes(const Report& report) {
  const auto refs = candidate_refs(report);
  Json list = Json::array();
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    list.push_back(candidate_part(report, i, refs[i]));
  }
  return list;
}

Json json_companions(const Report& report) {
  Json list = Json::array();
  for (const Companion& companion : report.companions) {
    const std::string reason = elf_reason(report, companion.object, companion.path);
    Json out;
    out["kind"] = name_of(companion.kind);
    out["loaded"] = companion.loaded;
    put_place(out, report, companion.object, companion.path);
    put_state(out, object_of(report, companion.object));
    put_text(out, "soname", companion.soname, reason);
    put_text(out, "version", companion.version, "no sign of the version was found");
    out["version_from"] = json_sentence_or_null(companion.version_from);
    out["found_by"] = json_sentence_or_null(companion.found_by);
    put_owner(out, report.snapshot, companion.path);
    out["evidence"] = json_sentence_list(companion.evidence);
    list.push_back(std::move(out));
  }
  return list;
}

Json json_installed(const Report& report) {
  const auto refs = candidate_refs(report);
  Json list = Json::array();
  for (const InstalledFile& file : report.snapshot.installed) {
    const auto candidate =
        std::find_if(report.candidates.begin(), report.candidates.end(),
                     [&](const Candidate& other) { return other.path == file.path; });
    const auto entry = report.snapshot.disk.find(file.path);
    const bool known = entry != report.snapshot.disk.end() && !entry->second.real_path.empty();
    Json out;
    out["path"] = json_bytes(file.path);
    put_text(out, "real_path", known ? entry->second.real_path : std::string(),
             "the path was not followed");
    out["found_by"] = json_sentence(file.found_by);
    out["runtime"] =
        candidate == report.candidates.end()
            ? Json(nullptr)
            : Json(refs[static_cast<std::size_t>(candidate - report.candidates.begin())]);
    list.push_back(std::move(out));
  }
  return list;
}

Json json_link_map(const Report& report) {
  Json namespaces = Json::array();
  const auto refs = candidate_refs(report);
  for (const LinkNamespace& space : *report.snapshot.link_map.get()) {
    Json entries = Json::array();
    for (std::size_t position = 0; position < space.entries.size(); ++position) {
      const LinkEntry& entry = space.entries[position];
      const Json runtime = index_of_object(report.candidates, entry.object);
      const Json companion = index_of_object(report.companions, entry.object);
      if (runtime.is_null() && companion.is_null()) continue;
      Json out;
      out["position"] = position;
      out["name"] = json_bytes(entry.name);
      out["runtime"] = runtime.is_null() ? Json(nullptr) : Json(refs[runtime.get<std::size_t>()]);
      out["companion"] = companion;
      entries.push_back(std::move(out));
    }
    Json out;
    out["id"] = space.id;
    out["note"] = json_sentence_or_null(space.note);
    out["entry_count"] = space.entries.size();
    out["entries"] = std::move(entries);
    namespaces.push_back(std::move(out));
  }
  Json out;
  out["namespaces"] = std::move(namespaces);
  return out;
}

}  // namespace cudart_doctor
