#include "case_snapshot.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "support/given_probe.hpp"
#include "support/synthetic_elf.hpp"

namespace cudart_doctor::test {
namespace {

constexpr std::string_view kMark = " (deleted)";

std::string value_or(const ObjectLine& line, const std::string& key, std::string fallback) {
  const auto found = line.keys.find(key);
  return found == line.keys.end() ? std::move(fallback) : found->second;
}

std::vector<std::string> names_of(std::string_view list) {
  std::vector<std::string> out;
  if (list.empty()) return out;
  for (const std::string_view name : split(list, ',')) out.emplace_back(name);
  return out;
}

/// The format has no key for a compat library: it is a driver in a directory of that name.
bool is_compat_driver(const ObjectLine& line) {
  if (line.kind != "driver") return false;
  const auto parts = split(line.path, '/');
  return std::find(parts.begin(), parts.end(), "compat") != parts.end();
}

SyntheticElf elf_of(const ObjectLine& line) {
  const std::string soname = value_or(line, "soname", {});
  const auto missing = names_of(value_or(line, "missing", {}));
  const std::string version = value_or(line, "ver", {});
  SyntheticElf out = make_plain(soname);
  if (line.kind == "cudart") out = make_genuine_runtime(soname, version, missing);
  if (line.kind == "lookalike") out = make_lookalike(soname, missing);
  if (line.kind == "driver") out = make_driver(version);
  if (is_compat_driver(line)) out.elf.compat_note = R"({"driver": "compat"})";
  if (line.kind == "nvrtc") out = make_nvrtc(soname, version);
  if (line.kind == "driver-stub") {
    out = make_driver_stub(parse_unsigned(value_or(line, "size", "65536"), 10).value_or(0));
  }
  if (const auto copy = line.keys.find("static-cudart"); copy != line.keys.end()) {
    out = make_static_copy(copy->second);
  }
  if (const auto build = line.keys.find("build"); build != line.keys.end()) {
    out.elf.build_id = build->second;
  }
  if (const auto size = line.keys.find("size"); size != line.keys.end()) {
    out.elf.file_size = parse_unsigned(size->second, 10).value_or(0);
    out.elf.required_size = std::min(out.elf.required_size, out.elf.file_size);
  }
  if (const auto undefined = line.keys.find("undefined"); undefined != line.keys.end()) {
    const std::size_t at = undefined->second.find('@');
    out.elf.undefined.push_back(
        {undefined->second.substr(0, at),
         at == std::string::npos ? std::string() : undefined->second.substr(at + 1)});
  }
  if (const auto needs = line.keys.find("needs"); needs != line.keys.end()) {
    out.elf.needed = names_of(needs->second);
  }
  if (const auto name = line.keys.find("undefined-driver"); name != line.keys.end()) {
    out.elf.undefined.push_back({name->second, {}});
  }
  if (const auto need = line.keys.find("version-need"); need != line.keys.end()) {
    const std::size_t at = need->second.find('@');
    out.elf.version_needs.push_back({need->second.substr(0, at), {need->second.substr(at + 1)}});
  }
  return out;
}

/// The genuine file that a library's name promises: what an unlisted search target is.
SyntheticElf elf_by_name(std::string_view path) {
  const std::string_view base = base_name(path);
  for (const std::string_view version : {"11.8", "12.4", "13.0"}) {
    const std::string soname = public_soname(version);
    if (base.starts_with(soname)) return make_genuine_runtime(soname, version);
  }
  if (base.starts_with("libcuda.so.")) return make_driver(base.substr(11));
  return make_plain(base);
}

const ObjectLine* line_for(const CaseFacts& facts, std::string_view path) {
  const auto found = std::find_if(facts.objects.begin(), facts.objects.end(),
                                  [&](const ObjectLine& line) { return line.path == path; });
  return found == facts.objects.end() ? nullptr : &*found;
}

const DiskLine* disk_for(const CaseFacts& facts, std::string_view path) {
  const auto found = std::find_if(facts.disk.begin(), facts.disk.end(),
                                  [&](const DiskLine& line) { return line.path == path; });
  return found == facts.disk.end() ? nullptr : &*found;
}

Result<FileKey> key_of(const DiskLine& line) {
  const auto parts = split(line.dev, ':');
  const auto major = parts.size() == 2 ? parse_unsigned(parts[0], 16) : std::nullopt;
  const auto minor = parts.size() == 2 ? parse_unsigned(parts[1], 16) : std::nullopt;
  if (!major || !minor) return fail(ErrorKind::malformed, "bad device " + line.dev);
  return FileKey{static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor),
                 line.inode};
}

/// Decides the state by what `stat` would give: the literal path first, then the cut one.
Result<void> set_state(LoadedObject& object, const CaseFacts& facts, const std::string& raw) {
  if (raw.starts_with("/memfd:")) {
    object.state = FileState::memory;
    object.paths = {raw.ends_with(kMark) ? raw.substr(0, raw.size() - kMark.size()) : raw};
    return {};
  }
  std::string path = raw;
  const DiskLine* literal = disk_for(facts, raw);
  if (raw.ends_with(kMark)) {
    const auto key =
        literal != nullptr && !literal->absent ? key_of(*literal) : Result<FileKey>(FileKey{});
    if (!key) return tl::unexpected(key.error());
    object.marked_deleted = *key != object.key;
    if (object.marked_deleted) path = raw.substr(0, raw.size() - kMark.size());
  }
  object.paths = {path};
  const DiskLine* disk = disk_for(facts, path);
  object.state = FileState::same;
  if (disk == nullptr) return {};
  if (disk->absent) {
    object.state = object.marked_deleted ? FileState::deleted : FileState::absent;
    return {};
  }
  const auto now = key_of(*disk);
  if (!now) return tl::unexpected(now.error());
  if (*now != object.key) {
    object.state = object.marked_deleted ? FileState::replaced : FileState::differs;
    object.path_now = *now;
  }
  return {};
}

Result<void> add_objects(Snapshot& snapshot, const CaseFacts& facts) {
  for (std::uint32_t row = 0; row < snapshot.maps.rows.size(); ++row) {
    const Mapping& mapping = snapshot.maps.rows[row];
    if (!mapping.file.is_file()) continue;
    auto found = std::find_if(snapshot.objects.begin(), snapshot.objects.end(),
                              [&](const LoadedObject& o) { return o.key == mapping.file; });
    if (found == snapshot.objects.end()) {
      LoadedObject object;
      object.key = mapping.file;
      object.lowest = mapping.lo;
      object.route = ReadRoute::fixture;
      const auto set = set_state(object, facts, std::string(snapshot.maps.path(mapping)));
      if (!set) return set;
      const ObjectLine* line = line_for(facts, object.path());
      const SyntheticElf elf = line == nullptr ? make_plain() : elf_of(*line);
      object.elf = Fact<ElfFacts>::known(elf.elf);
      object.content = Fact<ContentScan>::known(elf.content);
      if (line != nullptr && line->keys.contains("uses")) {
        object.uses_rules.push_back(line->keys.at("uses"));
      }
      snapshot.objects.push_back(std::move(object));
      found = std::prev(snapshot.objects.end());
    }
    found->rows.push_back(row);
    found->executable = found->executable || mapping.executable;
  }
  snapshot.capture.objects_read = static_cast<std::uint32_t>(snapshot.objects.size());
  return {};
}

void set_file(DiskEntry& entry, const SyntheticElf& elf) {
  entry.kind = DiskKind::file;
  entry.elf = Fact<ElfFacts>::known(elf.elf);
  entry.content = Fact<ContentScan>::known(elf.content);
}

Result<void> add_disk(Snapshot& snapshot, const CaseFacts& facts) {
  for (const DiskLine& line : facts.disk) {
    DiskEntry& entry = snapshot.disk[line.path];
    entry.kind = DiskKind::absent;
    if (line.absent) continue;
    const auto key = key_of(line);
    if (!key) return tl::unexpected(key.error());
    const ObjectLine* object = line_for(facts, line.path);
    set_file(entry, object == nullptr ? elf_by_name(line.path) : elf_of(*object));
    entry.key = *key;
    entry.real_path = line.path;
  }
  for (const LoadedObject& object : snapshot.objects) {
    if (object.path().empty() || snapshot.disk.contains(object.path())) continue;
    DiskEntry& entry = snapshot.disk[object.path()];
    entry.kind = object.state == FileState::same ? DiskKind::file : DiskKind::absent;
    if (entry.kind == DiskKind::absent) continue;
    entry.key = object.key;
    entry.real_path = object.path();
    entry.elf = object.elf;
    entry.content = object.content;
  }
  for (const ObjectLine& line : facts.objects) {
    if (!line.keys.contains("named")) continue;
    DiskEntry& entry = snapshot.disk[line.path];
    set_file(entry, elf_of(line));
    entry.real_path = line.path;
    snapshot.installed.push_back({line.path, std::string(kNamedByUser)});
  }
  for (const auto& [name, target] : facts.searches) {
    snapshot.loader.given_searches[name] = target;
    if (snapshot.disk.contains(target)) continue;
    DiskEntry& entry = snapshot.disk[target];
    const ObjectLine* line = line_for(facts, target);
    set_file(entry, line == nullptr ? elf_by_name(target) : elf_of(*line));
    entry.real_path = target;
  }
  return {};
}

/// "2214,1" as numbers; what is none is left out.
std::vector<std::int64_t> pids_of(std::string_view list) {
  std::vector<std::int64_t> out;
  for (const std::string_view part : split(list, ',')) {
    if (const auto pid = parse_unsigned(part, 10)) out.push_back(static_cast<std::int64_t>(*pid));
  }
  return out;
}

/// One side's `pidns` and `nspid` lines.
struct Identity {
  std::vector<std::int64_t> pids;
  std::map<std::string, std::uint64_t> namespaces;
};

Identity identity_of(const CaseFacts& facts, const std::string& side) {
  Identity identity;
  if (const auto pids = facts.host.find("nspid." + side); pids != facts.host.end()) {
    identity.pids = pids_of(pids->second);
  }
  if (const auto inode = facts.host.find("pidns." + side); inode != facts.host.end()) {
    identity.namespaces["pid"] = parse_unsigned(inode->second, 10).value_or(0);
  }
  return identity;
}

const std::string* host_line(const CaseFacts& facts, const std::string& key) {
  const auto found = facts.host.find(key);
  return found == facts.host.end() ? nullptr : &found->second;
}

/// Device nodes of the target, by their paths; their numbers are their places in the list.
std::vector<DeviceNode> nodes_of(std::string_view list) {
  std::vector<DeviceNode> out;
  for (std::string& path : names_of(list)) {
    DeviceNode node;
    node.dev_major = 195;
    node.dev_minor = static_cast<std::uint32_t>(out.size());
    node.path = std::move(path);
    out.push_back(std::move(node));
  }
  return out;
}

/// Mount namespaces, device nodes, and what was said of MPS, NVML and the platform.
void add_surroundings(Snapshot& snapshot, const CaseFacts& facts) {
  if (const auto* inode = host_line(facts, "mntns.self")) {
    snapshot.process.namespaces["mnt"] = parse_unsigned(*inode, 10).value_or(0);
  }
  if (const auto* inode = host_line(facts, "mntns.doctor")) {
    snapshot.process.own_namespaces["mnt"] = parse_unsigned(*inode, 10).value_or(0);
  }
  if (const auto* list = host_line(facts, "device-nodes")) {
    snapshot.process.rights.device_nodes = Fact<std::vector<DeviceNode>>::known(nodes_of(*list));
  }
  if (const auto* sign = host_line(facts, "no-ipc")) snapshot.host.no_ipc_sign = *sign;
  if (const auto* place = host_line(facts, "mps")) snapshot.probe.gate.mps = *place;
  if (const auto* note = host_line(facts, "nvml")) snapshot.probe.gate.cards_note = *note;
  if (host_line(facts, "maps.moving") != nullptr) snapshot.capture.maps_consistent = false;
}

void add_target(Snapshot& snapshot, const CaseFacts& facts) {
  const Identity identity = identity_of(facts, "self");
  snapshot.process.ns_pids = identity.pids;
  snapshot.process.namespaces = identity.namespaces;
  if (!identity.pids.empty()) snapshot.process.pid = identity.pids.front();
  if (const auto uuids = facts.host.find("uuids.self"); uuids != facts.host.end()) {
    for (const std::string& uuid : names_of(uuids->second)) {
      ProbeDevice device;
      device.ordinal = static_cast<int>(snapshot.probe.devices.size());
      device.uuid = uuid;
      snapshot.probe.devices.push_back(std::move(device));
    }
  }
  if (const auto capability = facts.host.find("cap_sys_ptrace"); capability != facts.host.end()) {
    constexpr std::uint64_t kSysPtrace = 1U << 19U;
    snapshot.process.rights.effective =
        Fact<std::uint64_t>::known(capability->second == "1" ? kSysPtrace : 0);
  }
}

void add_peer(Snapshot& snapshot, const CaseFacts& facts) {
  const bool is_told = facts.probe.contains("ipc.peer.open") ||
                       std::any_of(facts.host.begin(), facts.host.end(),
                                   [](const auto& line) { return line.first.ends_with(".peer"); });
  if (!is_told) return;
  const Identity identity = identity_of(facts, "peer");
  PeerFacts peer;
  peer.pid = identity.pids.empty() ? 0 : identity.pids.front();
  peer.ns_pids = identity.pids;
  peer.namespaces = identity.namespaces;
  if (const auto uuids = facts.host.find("uuids.peer"); uuids != facts.host.end()) {
    peer.uuids = names_of(uuids->second);
  }
  peer.found_by = "given by the case";
  snapshot.peers.push_back(std::move(peer));
}

}  // namespace

Result<Snapshot> make_snapshot(const CaseRun& run) {
  Snapshot snapshot;
  snapshot.origin = SnapshotOrigin::fixture;
  snapshot.process.pid = 1;
  snapshot.capture.maps_reads = 2;
  auto maps = parse_maps(run.maps);
  if (!maps) return tl::unexpected(maps.error());
  snapshot.maps = std::move(*maps);
  for (const auto& step : {add_objects(snapshot, run.facts), add_disk(snapshot, run.facts)}) {
    if (!step) return tl::unexpected(step.error());
  }
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown("not given by the case");
  snapshot.environment = Fact<Environment>::unknown("not given by the case");
  if (!run.facts.environment.empty()) {
    Environment environment;
    environment.origin = EnvironmentOrigin::fixture;
    environment.variables = run.facts.environment;
    snapshot.environment = Fact<Environment>::known(std::move(environment));
  }
  snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::unknown("not given by the case");
  snapshot.host.given = run.facts.host;
  add_target(snapshot, run.facts);
  add_surroundings(snapshot, run.facts);
  add_peer(snapshot, run.facts);
  for (const auto& [key, value] : run.facts.probe) give_probe(snapshot, key, value);
  if (const auto scope = run.facts.host.find("yama.ptrace_scope"); scope != run.facts.host.end()) {
    const auto number = parse_unsigned(scope->second, 10);
    if (number) snapshot.host.ptrace_scope = Fact<int>::known(static_cast<int>(*number));
  }
  if (const auto kmod = run.facts.host.find("kmod"); kmod != run.facts.host.end()) {
    snapshot.host.kernel_module = Fact<std::string>::known(kmod->second);
  }
  return snapshot;
}

}  // namespace cudart_doctor::test
