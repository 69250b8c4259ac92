// The probe in the JSON report: the verdict, then everything that was seen.
#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

/// "code" and "code_name": the names of CUDA's results are what people search for.
void put_code(Json& out, std::optional<int> code, std::string_view call) {
  out["code"] = code ? Json(*code) : Json(nullptr);
  out["code_name"] = code ? json_bytes_or_null(cuda_code_name(*code, call)) : Json(nullptr);
}

Json ordinal_or_null(int device) { return device < 0 ? Json(nullptr) : Json(device); }

Json verdict_of(const ProbeVerdict& verdict) {
  Json out;
  out["outcome"] = name_of(verdict.outcome);
  out["sentence"] = json_sentence(verdict.sentence);
  out["stage"] = verdict.stage ? Json(name_of(*verdict.stage)) : Json(nullptr);
  put_code(out, verdict.code, {});
  out["cause"] = json_sentence_or_null(verdict.cause);
  out["finding"] = json_bytes_or_null(verdict.finding);
  out["remedy"] = json_sentence_or_null(verdict.remedy);
  out["owner"] = verdict.owner ? Json(name_of(*verdict.owner)) : Json(nullptr);
  out["sharing"] = Json::array();
  for (const MechanismVerdict& each : verdict.mechanisms) {
    Json row;
    row["mechanism"] = name_of(each.mechanism);
    row["outcome"] = name_of(each.outcome);
    row["reason"] = json_sentence_or_null(each.reason);
    row["needed_by"] = json_sentence_or_null(each.needed_by);
    out["sharing"].push_back(std::move(row));
  }
  return out;
}

Json stage_of(const StageResult& stage) {
  Json out;
  out["stage"] = name_of(stage.stage);
  out["outcome"] = name_of(stage.outcome);
  out["side"] = name_of(stage.side);
  out["device"] = ordinal_or_null(stage.device);
  out["peer_device"] = ordinal_or_null(stage.peer_device);
  put_code(out, stage.code, stage.call);
  out["call"] = json_bytes_or_null(stage.call);
  out["detail"] = json_bytes_or_null(stage.detail);
  return out;
}

Json end_of(const ChildEnd& end) {
  Json out;
  out["end"] = name_of(end.kind);
  out["status"] = end.status;
  out["output"] = json_bytes_or_null(end.output);
  return out;
}

Json version_or_null(std::optional<int> version) {
  return version ? Json(*version) : Json(nullptr);
}

Json runtime_of(const ProbedRuntime& runtime, const std::vector<std::string>& refs) {
  Json out;
  out["ref"] = runtime.candidate < refs.size() ? Json(refs[runtime.candidate]) : Json(nullptr);
  out["path"] = json_bytes(runtime.path);
  out["selected"] = runtime.selected;
  out["look_alike"] = runtime.look_alike;
  out["alone"] = runtime.alone;
  out["skipped"] = json_bytes_or_null(runtime.skipped);
  out["opened_by"] = json_bytes_or_null(runtime.opened_by);
  out["runtime_version"] = version_or_null(runtime.runtime_version);
  out["driver_version"] = version_or_null(runtime.driver_version);
  out["missing"] = json_bytes_list(runtime.missing);
  out["elsewhere"] = json_bytes_list(runtime.elsewhere);
  out["stages"] = Json::array();
  for (const StageResult& stage : runtime.stages) out["stages"].push_back(stage_of(stage));
  out["exporter"] = end_of(runtime.exporter);
  out["importer"] = end_of(runtime.importer);
  return out;
}

Json mechanism_of(const MechanismResult& result) {
  Json out;
  out["mechanism"] = name_of(result.mechanism);
  out["outcome"] = name_of(result.outcome);
  out["device"] = ordinal_or_null(result.device);
  put_code(out, result.code, result.call);
  out["errno"] = result.error ? Json(*result.error) : Json(nullptr);
  out["call"] = json_bytes_or_null(result.call);
  out["detail"] = json_bytes_or_null(result.detail);
  return out;
}

Json device_of(const ProbeDevice& device) {
  Json out;
  out["ordinal"] = device.ordinal;
  out["name"] = json_bytes(device.name);
  out["uuid"] = json_bytes_or_null(device.uuid);
  out["capability"] =
      std::to_string(device.capability_major) + "." + std::to_string(device.capability_minor);
  out["memory_bytes"] = device.memory_bytes;
  out["free_bytes"] = device.free_bytes;
  out["image"] = json_bytes_or_null(device.image);
  return out;
}

Json driver_of(const std::optional<ProbeDriver>& driver) {
  if (!driver) return nullptr;
  Json out;
  out["path"] = json_bytes(driver->path);
  out["device"] = json_device(driver->key);
  out["inode"] = driver->key.inode;
  out["version"] = driver->version;
  return out;
}

Json bytes_or_null(std::optional<std::uint64_t> bytes) {
  return bytes ? Json(*bytes) : Json(nullptr);
}

Json gate_of(const ProbeGate& gate) {
  Json out;
  out["asked"] = gate.asked;
  out["note"] = json_bytes_or_null(gate.cards_note);
  out["mps"] = json_bytes_or_null(gate.mps);
  out["cards"] = Json::array();
  for (const CardUse& card : gate.cards) {
    Json row;
    row["uuid"] = json_bytes_or_null(card.uuid);
    row["node"] = json_bytes_or_null(card.node);
    row["name"] = json_bytes_or_null(card.name);
    row["compute_mode"] = json_bytes_or_null(card.compute_mode);
    row["used_bytes"] = bytes_or_null(card.used_bytes);
    row["free_bytes"] = bytes_or_null(card.free_bytes);
    row["users"] = card.users;
    out["cards"].push_back(std::move(row));
  }
  return out;
}

}  // namespace

Json json_peers(const Snapshot& snapshot) {
  Json list = Json::array();
  for (const PeerFacts& peer : snapshot.peers) {
    Json out;
    out["pid"] = peer.pid;
    out["comm"] = json_bytes(peer.comm);
    out["uid"] = peer.uid ? Json(*peer.uid) : Json(nullptr);
    out["ns_pids"] = peer.ns_pids;
    const auto space = peer.namespaces.find("pid");
    out["pid_namespace"] = space == peer.namespaces.end() ? Json(nullptr) : Json(space->second);
    if (const std::string* visible = peer.visible_devices.get()) {
      put_known(out, "visible_devices", json_bytes(*visible));
    } else {
      put_unknown(out, "visible_devices", peer.visible_devices.reason());
    }
    out["found_by"] = json_sentence(peer.found_by);
    list.push_back(std::move(out));
  }
  return list;
}

Json json_probe(const Report& report) {
  const ProbeFacts& probe = report.snapshot.probe;
  Json out;
  out["decision"] = name_of(probe.decision);
  out["reason"] = json_sentence_or_null(probe.reason);
  out["required"] = probe.required;
  out["verdict"] = verdict_of(report.probe_verdict);
  out["differences"] = json_sentence_list(probe.differences);
  out["gate"] = gate_of(probe.gate);
  out["driver"] = driver_of(probe.driver);
  out["devices"] = Json::array();
  for (const ProbeDevice& device : probe.devices) out["devices"].push_back(device_of(device));
  out["runtimes"] = Json::array();
  const auto refs = candidate_refs(report);
  for (const ProbedRuntime& each : probe.runtimes)
    out["runtimes"].push_back(runtime_of(each, refs));
  out["mechanisms"] = Json::array();
  for (const MechanismResult& each : probe.mechanisms) {
    out["mechanisms"].push_back(mechanism_of(each));
  }
  out["environment"] = Json::array();
  for (const auto& [name, value] : probe.environment) {
    out["environment"].push_back({{"name", json_bytes(name)}, {"value", json_bytes(value)}});
  }
  out["milliseconds"] = probe.milliseconds;
  return out;
}

}  // namespace cudart_doctor
