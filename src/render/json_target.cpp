// host, target, environment, python and capture of the JSON report: what was looked at.
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"
#include "render/redact.hpp"

namespace cudart_doctor {
namespace {

void put_id(Json& object, const std::string& key, const std::optional<std::uint32_t>& id) {
  if (id) {
    put_known(object, key, *id);
  } else {
    put_unknown(object, key, "status could not be read");
  }
}

void put_gpus(Json& object, const Snapshot& snapshot) {
  const ProcessGpus gpus = gpus_of(snapshot);
  if (gpus.uuids.empty()) {
    put_unknown(object, "gpus", "no card was asked for its UUID, and no variable names one");
    object["gpus_from"] = nullptr;
    return;
  }
  put_known(object, "gpus", json_bytes_list(gpus.uuids));
  object["gpus_from"] = gpus.from;
}

Json namespace_list(const ProcessFacts& process) {
  Json list = Json::array();
  for (const auto& [name, inode] : process.namespaces) {
    const auto own = process.own_namespaces.find(name);
    Json out;
    out["name"] = json_bytes(name);
    out["inode"] = inode;
    if (own == process.own_namespaces.end()) {
      put_unknown(out, "shared_with_doctor", "the doctor's own namespace was not read");
    } else {
      put_known(out, "shared_with_doctor", own->second == inode);
    }
    list.push_back(std::move(out));
  }
  return list;
}

std::string_view mode_of(const Snapshot& snapshot) {
  if (nobody_judged(snapshot)) return "none";
  return snapshot.environment_only ? "environment" : "process";
}

}  // namespace

Json json_host(const HostFacts& host) {
  Json out;
  put_text(out, "name", host.name, "the snapshot carries no host name");
  put_text(out, "kernel", host.kernel, "not read");
  if (const auto* version = host.kernel_module.get()) {
    put_known(out, "kernel_module", json_bytes(*version));
  } else {
    put_unknown(out, "kernel_module", host.kernel_module.reason());
  }
  return out;
}

Json json_target(const Snapshot& snapshot) {
  const ProcessFacts& process = snapshot.process;
  Json out;
  out["mode"] = mode_of(snapshot);
  out["origin"] = name_of(snapshot.origin);
  out["pid"] = process.pid;
  out["start_ticks"] = process.start_ticks;
  out["parent_pid"] = process.parent_pid;
  put_id(out, "uid", process.uid);
  put_id(out, "gid", process.gid);
  out["comm"] = json_bytes(process.comm);
  if (const auto* command_line = process.command_line.get()) {
    put_known(out, "command_line", json_bytes_list(redact_arguments(*command_line)));
  } else {
    put_unknown(out, "command_line", process.command_line.reason());
  }
  out["title"] = process_title(process);
  if (const auto* executable = process.executable.get()) {
    put_known(out, "executable", json_bytes(*executable));
  } else {
    put_unknown(out, "executable", process.executable.reason());
  }
  out["ns_pids"] = process.ns_pids;
  if (const auto inner = inner_pid(process)) {
    put_known(out, "inner_pid", *inner);
  } else {
    put_unknown(out, "inner_pid", "NSpid was not read");
  }
  put_gpus(out, snapshot);
  out["namespaces"] = namespace_list(process);
  out["threads"] = process.threads;
  out["children"] = process.children;
  put_text(out, "libc", process.libc, "no C library was seen");
  out["loaded_for_this_look"] = json_sentence_list(snapshot.self_notes);
  return out;
}

Json json_environment(const Environment& environment) {
  Json out;
  out["origin"] = name_of(environment.origin);
  out["note"] = json_sentence_or_null(environment.note);
  std::size_t others = 0;
  Json list = Json::array();
  for (const auto& [name, value] : environment.variables) {
    if (!is_reported_variable(name)) {
      ++others;
      continue;
    }
    Json variable;
    variable["name"] = json_bytes(name);
    if (is_secret_name(name)) {
      put_unknown(variable, "value", "withheld: named like a secret");
    } else {
      put_known(variable, "value", json_bytes(redact_urls(value)));
    }
    list.push_back(std::move(variable));
  }
  out["variables"] = std::move(list);
  out["other_variables"] = others;
  return out;
}

Json json_python(const PythonFacts& python) {
  Json out;
  out["is_python"] = python.is_python;
  out["chosen_by"] = json_sentence_or_null(python.chosen_by);
  out["site_directories"] = json_bytes_list(python.site_directories);
  out["unread_directories"] = json_sentence_list(python.unread_directories);
  return out;
}

Json json_capture(const Snapshot& snapshot) {
  const CaptureFacts& capture = snapshot.capture;
  Json out;
  out["maps_reads"] = capture.maps_reads;
  out["maps_consistent"] = capture.maps_consistent;
  out["odd_lines"] = snapshot.maps.odd_lines;
  out["first_odd_line"] = json_bytes_or_null(snapshot.maps.first_odd_line);
  out["maps_truncated"] = snapshot.maps.truncated;
  out["objects"] = snapshot.objects.size();
  out["objects_read"] = capture.objects_read;
  out["not_elf"] = capture.not_elf;
  out["unread"] = json_sentence_list(capture.unread);
  out["static_searched"] = capture.static_searched;
  out["static_skipped"] = capture.static_skipped;
  out["notes"] = json_sentence_list(capture.notes);
  return out;
}

}  // namespace cudart_doctor
