// Every field of a snapshot by name, once for writing and reading: an archive is called with a name
// and a reference for each. What is not listed here does not survive a bundle.
#pragma once

#include <array>
#include <string_view>

#include "cudart_doctor/collect/recording_fields.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

template <>
struct EnumNames<FileState> {
  static constexpr std::array<std::string_view, 7> kNames = {
      "unknown", "same", "deleted", "replaced", "differs", "absent", "memory"};
};
template <>
struct EnumNames<ReadRoute> {
  static constexpr std::array<std::string_view, 5> kNames = {"none", "map_files", "root_path",
                                                             "memory", "fixture"};
};
template <>
struct EnumNames<EnvironmentOrigin> {
  static constexpr std::array<std::string_view, 3> kNames = {"at_exec", "live_memory", "fixture"};
};
template <>
struct EnumNames<DiskKind> {
  static constexpr std::array<std::string_view, 5> kNames = {"absent", "file", "directory", "other",
                                                             "unreadable"};
};
template <>
struct EnumNames<PackageKind> {
  static constexpr std::array<std::string_view, 4> kNames = {"wheel", "conda", "dpkg", "rpm"};
};
template <>
struct EnumNames<SnapshotOrigin> {
  static constexpr std::array<std::string_view, 4> kNames = {"live", "self", "bundle", "fixture"};
};

template <>
struct EnumNames<Stage> {
  static constexpr auto kNames = kStageNames;
};
template <>
struct EnumNames<StageOutcome> {
  static constexpr std::array<std::string_view, 4> kNames = {"pass", "fail", "skipped", "begun"};
};
template <>
struct EnumNames<ProbeSide> {
  static constexpr std::array<std::string_view, 3> kNames = {"runner", "exporter", "importer"};
};
template <>
struct EnumNames<ChildEndKind> {
  static constexpr std::array<std::string_view, 6> kNames = {"not_started", "exited", "signalled",
                                                             "timed_out",   "killed", "left"};
};
template <>
struct EnumNames<Mechanism> {
  static constexpr auto kNames = kMechanismNames;
};
template <>
struct EnumNames<ProbeDecision> {
  static constexpr std::array<std::string_view, 4> kNames = {"not_asked", "refused", "impossible",
                                                             "run"};
};
template <>
struct EnumNames<Severity> {
  static constexpr std::array<std::string_view, 4> kNames = {"info", "warning", "error",
                                                             "critical"};
};

/// Keys that bundles of this version had not from the beginning: where one is missing, nobody
/// asked.
inline constexpr std::array<std::string_view, 2> kLaterKeys = {"recording", "children"};

/// Archive::Ref<T> is T& for a reader and const T& for a writer.
template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<FileKey> v) {
  ar("dev_major", v.dev_major);
  ar("dev_minor", v.dev_minor);
  ar("inode", v.inode);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<VersionNeed> v) {
  ar("file", v.file);
  ar("versions", v.versions);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<SymbolRef> v) {
  ar("name", v.name);
  ar("version", v.version);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<SymbolCensus> v) {
  ar("runtime", v.runtime);
  ar("driver", v.driver);
  ar("nvrtc", v.nvrtc);
  ar("nvml", v.nvml);
  ar("hip", v.hip);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ElfFacts> v) {
  ar("machine", v.machine);
  ar("type", v.type);
  ar("from_memory", v.from_memory);
  ar("file_size", v.file_size);
  ar("required_size", v.required_size);
  ar("load_segments", v.load_segments);
  ar("has_dynamic", v.has_dynamic);
  ar("soname", v.soname);
  ar("rpath", v.rpath);
  ar("runpath", v.runpath);
  ar("interpreter", v.interpreter);
  ar("needed", v.needed);
  ar("version_base", v.version_base);
  ar("version_definitions", v.version_definitions);
  ar("version_needs", v.version_needs);
  ar("has_symbol_versions", v.has_symbol_versions);
  ar("is_symbolic", v.is_symbolic);
  ar("build_id", v.build_id);
  ar("compat_note", v.compat_note);
  ar("device_code_sections", v.device_code_sections);
  ar("exports_api", v.exports_api);
  ar("symbols_walked", v.symbols_walked);
  ar("defined_symbols", v.defined_symbols);
  ar("census", v.census);
  ar("exports", v.exports);
  ar("undefined", v.undefined);
  ar("runtime_nodes", v.runtime_nodes);
  ar("cu_init_is_constant", v.cu_init_is_constant);
  ar("damage", v.damage);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<VersionConstant> v) {
  ar("value", v.value);
  ar("count", v.count);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ContentScan> v) {
  ar("yardstick", v.yardstick);
  ar("constants", v.constants);
  ar("markers", v.markers);
  ar("text_version", v.text_version);
  ar("bytes", v.bytes);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<Slot> v) {
  ar("name", v.name);
  ar("version", v.version);
  ar("address", v.address);
  ar("bound", v.bound);
  ar("object", v.object);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<FileOwner> v) {
  ar("kind", v.kind);
  ar("package", v.package);
  ar("version", v.version);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LoadedObject> v) {
  ar("key", v.key);
  ar("paths", v.paths);
  ar("marked_deleted", v.marked_deleted);
  ar("executable", v.executable);
  ar("lowest", v.lowest);
  ar("rows", v.rows);
  ar("state", v.state);
  ar("state_note", v.state_note);
  ar("path_now", v.path_now);
  ar("path_now_build_id", v.path_now_build_id);
  ar("route", v.route);
  ar("route_note", v.route_note);
  ar("elf", v.elf);
  ar("content", v.content);
  ar("slots", v.slots);
  ar("uses_rules", v.uses_rules);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LinkEntry> v) {
  ar("load_bias", v.load_bias);
  ar("name", v.name);
  ar("object", v.object);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LinkNamespace> v) {
  ar("id", v.id);
  ar("entries", v.entries);
  ar("note", v.note);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<Environment> v) {
  ar("origin", v.origin);
  ar("note", v.note);
  ar("variables", v.variables);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<DeviceNode> v) {
  ar("path", v.path);
  ar("dev_major", v.dev_major);
  ar("dev_minor", v.dev_minor);
  ar("mode", v.mode);
  ar("uid", v.uid);
  ar("gid", v.gid);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProcessRights> v) {
  ar("groups", v.groups);
  ar("effective", v.effective);
  ar("permitted", v.permitted);
  ar("bounding", v.bounding);
  ar("seccomp", v.seccomp);
  ar("cgroup", v.cgroup);
  ar("device_nodes", v.device_nodes);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<PeerFacts> v) {
  ar("pid", v.pid);
  ar("uid", v.uid);
  ar("comm", v.comm);
  ar("ns_pids", v.ns_pids);
  ar("namespaces", v.namespaces);
  ar("rights", v.rights);
  ar("visible_devices", v.visible_devices);
  ar("uuids", v.uuids);
  ar("found_by", v.found_by);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProcessFacts> v) {
  ar("pid", v.pid);
  ar("parent_pid", v.parent_pid);
  ar("start_ticks", v.start_ticks);
  ar("uid", v.uid);
  ar("gid", v.gid);
  ar("comm", v.comm);
  ar("command_line", v.command_line);
  ar("executable", v.executable);
  ar("ns_pids", v.ns_pids);
  ar("namespaces", v.namespaces);
  ar("own_namespaces", v.own_namespaces);
  ar("threads", v.threads);
  ar("children", v.children);
  ar("libc", v.libc);
  ar("rights", v.rights);
  ar("own_rights", v.own_rights);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LoaderCacheEntry> v) {
  ar("soname", v.soname);
  ar("path", v.path);
  ar("flags", v.flags);
  ar("hwcap", v.hwcap);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<LoaderFacts> v) {
  ar("cache", v.cache);
  ar("given_searches", v.given_searches);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<DiskEntry> v) {
  ar("kind", v.kind);
  ar("note", v.note);
  ar("key", v.key);
  ar("size", v.size);
  ar("real_path", v.real_path);
  ar("elf", v.elf);
  ar("content", v.content);
  ar("text", v.text);
  ar("names", v.names);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<InstalledFile> v) {
  ar("path", v.path);
  ar("found_by", v.found_by);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<PythonDistribution> v) {
  ar("name", v.name);
  ar("version", v.version);
  ar("directory", v.directory);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<PythonFacts> v) {
  ar("is_python", v.is_python);
  ar("site_directories", v.site_directories);
  ar("unread_directories", v.unread_directories);
  ar("distributions", v.distributions);
  ar("chosen_by", v.chosen_by);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<HostFacts> v) {
  ar("name", v.name);
  ar("kernel", v.kernel);
  ar("kernel_module", v.kernel_module);
  ar("ptrace_scope", v.ptrace_scope);
  ar("no_ipc_sign", v.no_ipc_sign);
  ar("given", v.given);
  ar("given_probe", v.given_probe);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<CaptureFacts> v) {
  ar("taken_at", v.taken_at);
  ar("maps_reads", v.maps_reads);
  ar("maps_consistent", v.maps_consistent);
  ar("objects_read", v.objects_read);
  ar("not_elf", v.not_elf);
  ar("unread", v.unread);
  ar("static_searched", v.static_searched);
  ar("static_skipped", v.static_skipped);
  ar("notes", v.notes);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<StageResult> v) {
  ar("stage", v.stage);
  ar("outcome", v.outcome);
  ar("side", v.side);
  ar("device", v.device);
  ar("peer_device", v.peer_device);
  ar("code", v.code);
  ar("call", v.call);
  ar("detail", v.detail);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ChildEnd> v) {
  ar("kind", v.kind);
  ar("status", v.status);
  ar("pid", v.pid);
  ar("output", v.output);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbedRuntime> v) {
  ar("candidate", v.candidate);
  ar("path", v.path);
  ar("selected", v.selected);
  ar("look_alike", v.look_alike);
  ar("alone", v.alone);
  ar("skipped", v.skipped);
  ar("opened_by", v.opened_by);
  ar("stages", v.stages);
  ar("runtime_version", v.runtime_version);
  ar("driver_version", v.driver_version);
  ar("missing", v.missing);
  ar("elsewhere", v.elsewhere);
  ar("exporter", v.exporter);
  ar("importer", v.importer);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<MechanismResult> v) {
  ar("mechanism", v.mechanism);
  ar("outcome", v.outcome);
  ar("device", v.device);
  ar("code", v.code);
  ar("error", v.error);
  ar("call", v.call);
  ar("detail", v.detail);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbeDevice> v) {
  ar("ordinal", v.ordinal);
  ar("name", v.name);
  ar("uuid", v.uuid);
  ar("capability_major", v.capability_major);
  ar("capability_minor", v.capability_minor);
  ar("memory_bytes", v.memory_bytes);
  ar("free_bytes", v.free_bytes);
  ar("image", v.image);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbeDriver> v) {
  ar("path", v.path);
  ar("key", v.key);
  ar("version", v.version);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<CardUse> v) {
  ar("uuid", v.uuid);
  ar("node", v.node);
  ar("name", v.name);
  ar("compute_mode", v.compute_mode);
  ar("used_bytes", v.used_bytes);
  ar("free_bytes", v.free_bytes);
  ar("users", v.users);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbeGate> v) {
  ar("asked", v.asked);
  ar("cards", v.cards);
  ar("cards_note", v.cards_note);
  ar("mps", v.mps);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbeFacts> v) {
  ar("decision", v.decision);
  ar("reason", v.reason);
  ar("required", v.required);
  ar("gate", v.gate);
  ar("differences", v.differences);
  ar("devices", v.devices);
  ar("driver", v.driver);
  ar("runtimes", v.runtimes);
  ar("mechanisms", v.mechanisms);
  ar("environment", v.environment);
  ar("milliseconds", v.milliseconds);
}

/// All but the maps, which lie in a file of their own.
template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<Snapshot> v) {
  ar("origin", v.origin);
  ar("environment_only", v.environment_only);
  ar("self_notes", v.self_notes);
  ar("process", v.process);
  ar("objects", v.objects);
  ar("link_map", v.link_map);
  ar("environment", v.environment);
  ar("loader", v.loader);
  ar("python", v.python);
  ar("disk", v.disk);
  ar("installed", v.installed);
  ar("owners", v.owners);
  ar("host", v.host);
  ar("capture", v.capture);
  ar("peers", v.peers);
  ar("probe", v.probe);
  ar("recording", v.recording);
}

}  // namespace cudart_doctor
