// Which candidates are probed, in which order, and as whom.
#include "cudart_doctor/analyze/probe_plan.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/rules.hpp"

namespace cudart_doctor {
namespace {

/// What the headline's rule ends at; nullptr where it ends nowhere.
const Selection* headline_selection(const Report& report) {
  const auto found =
      std::find_if(report.selections.begin(), report.selections.end(),
                   [&](const Selection& row) { return row.policy == report.headline_policy; });
  return found == report.selections.end() || found->outcome != Outcome::selected ? nullptr
                                                                                 : &*found;
}

const DiskEntry* file_on_disk(const Snapshot& snapshot, const std::string& path) {
  const auto entry = snapshot.disk.find(path);
  if (entry == snapshot.disk.end() || entry->second.kind != DiskKind::file) return nullptr;
  return &entry->second;
}

/// Two candidates may be one file: under a link, or as a mapping and a path.
FileKey key_of(const Report& report, const Candidate& candidate) {
  if (candidate.object) return report.snapshot.objects[*candidate.object].key;
  const DiskEntry* entry = file_on_disk(report.snapshot, candidate.path);
  return entry == nullptr ? FileKey{} : entry->key;
}

const Candidate* selected_candidate(const Report& report) {
  const Selection* row = headline_selection(report);
  if (row == nullptr) return nullptr;
  if (row->object) {
    const auto found =
        std::find_if(report.candidates.begin(), report.candidates.end(),
                     [&](const Candidate& candidate) { return candidate.object == row->object; });
    return found == report.candidates.end() ? nullptr : &*found;
  }
  if (!row->disk_path) return nullptr;
  const DiskEntry* entry = file_on_disk(report.snapshot, *row->disk_path);
  const auto found = std::find_if(
      report.candidates.begin(), report.candidates.end(), [&](const Candidate& candidate) {
        if (candidate.path == *row->disk_path) return true;
        return entry != nullptr && entry->key.is_file() && key_of(report, candidate) == entry->key;
      });
  return found == report.candidates.end() ? nullptr : &*found;
}

/// The rows that map_files is asked for: an executable one, since that is what was loaded.
void set_mapping(ProbeSubject& subject, const Snapshot& snapshot, const LoadedObject& object) {
  const Mapping* best = nullptr;
  for (const std::uint32_t index : object.rows) {
    if (index >= snapshot.maps.rows.size()) continue;
    const Mapping& row = snapshot.maps.rows[index];
    if (best == nullptr || (row.executable && !best->executable)) best = &row;
  }
  if (best == nullptr) return;
  subject.map_lo = best->lo;
  subject.map_hi = best->hi;
}

/// A library's own run path may lead to another libcuda, which its neighbours would then share.
bool has_run_path(const ElfFacts* elf) {
  if (elf == nullptr) return false;
  return !elf->rpath.value_or("").empty() || !elf->runpath.value_or("").empty();
}

ProbeSubject subject_of(const Report& report, const Candidate& candidate,
                        const ProbeRequest& request) {
  ProbeSubject subject;
  subject.candidate = static_cast<std::uint32_t>(&candidate - report.candidates.data());
  subject.path = candidate.path;
  subject.key = key_of(report, candidate);
  subject.build_id = candidate.build_id.value_or("");
  subject.look_alike = is_fake(candidate.kind);
  subject.symbols_only = subject.look_alike && !request.look_alikes;
  subject.alone = subject.look_alike;
  if (!candidate.object) {
    const DiskEntry* entry = file_on_disk(report.snapshot, candidate.path);
    subject.alone = subject.alone || has_run_path(entry == nullptr ? nullptr : entry->elf.get());
    return subject;
  }
  const LoadedObject& object = report.snapshot.objects[*candidate.object];
  set_mapping(subject, report.snapshot, object);
  subject.alone = subject.alone || has_run_path(object.elf.get());
  if (object.state == FileState::memory) subject.skip = "exists only in memory: no file to open";
  return subject;
}

ProbeIdentity identity_of(const ProcessFacts& process) {
  ProbeIdentity identity;
  identity.pid = process.pid;
  identity.uid = process.uid;
  identity.gid = process.gid;
  identity.start_ticks = process.start_ticks;
  return identity;
}

bool is_driver(CompanionKind kind) {
  switch (kind) {
    case CompanionKind::driver:
    case CompanionKind::driver_compat:
    case CompanionKind::driver_stub:
    case CompanionKind::driver_broken: return true;
    default: return false;
  }
}

void set_target_driver(ProbePlan& plan, const Report& report) {
  for (const Companion& companion : report.companions) {
    if (!companion.loaded || !companion.object || !is_driver(companion.kind)) continue;
    plan.target_driver =
        MappedDriver{report.snapshot.objects[*companion.object].key, companion.path};
    return;
  }
}

}  // namespace

ProbePlan plan_probe(const Report& report, const ProbeRequest& request) {
  ProbePlan plan;
  const Candidate* selected = selected_candidate(report);
  const auto add = [&](const Candidate& candidate) {
    ProbeSubject subject = subject_of(report, candidate, request);
    const auto same = [&](const ProbeSubject& other) {
      return subject.candidate == other.candidate ||
             (subject.key.is_file() && subject.key == other.key);
    };
    if (std::any_of(plan.subjects.begin(), plan.subjects.end(), same)) return;
    subject.selected = &candidate == selected;
    plan.subjects.push_back(std::move(subject));
  };
  if (selected != nullptr && (selected->kind == RuntimeKind::genuine || is_fake(selected->kind))) {
    add(*selected);
  }
  for (const Candidate* runtime : distinct_runtimes(report.snapshot, report.candidates)) {
    add(*runtime);
  }
  for (const Candidate& candidate : report.candidates) {
    if (is_look_alike(candidate)) add(candidate);
  }
  plan.identity = identity_of(report.snapshot.process);
  if (const Environment* environment = report.snapshot.environment.get()) {
    plan.environment = environment->variables;
    plan.environment_known = true;
  }
  for (const std::string_view name : names_rt11()) plan.bound_names.emplace_back(name);
  plan.devices = request.devices;
  plan.all_pairs = request.all_pairs;
  set_target_driver(plan, report);
  if (const std::string& sign = report.snapshot.host.no_ipc_sign; !sign.empty()) {
    plan.no_ipc = "not tried on this platform: " + sign;
  }
  return plan;
}

}  // namespace cudart_doctor
