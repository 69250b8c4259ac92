#include "cudart_doctor/collect/capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/collect/host_facts.hpp"
#include "cudart_doctor/collect/installed.hpp"
#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/live_environment.hpp"
#include "cudart_doctor/collect/owners.hpp"
#include "cudart_doctor/collect/peers.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/collect/process_rights.hpp"
#include "cudart_doctor/collect/python_env.hpp"
#include "cudart_doctor/collect/read_maps.hpp"
#include "cudart_doctor/collect/read_objects.hpp"
#include "cudart_doctor/collect/slots.hpp"
#include "cudart_doctor/collect/together.hpp"
#include "cudart_doctor/formats/ld_cache.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

// The loader's structures lie close together in the heap, one module's after the other's.
constexpr std::size_t kMemoryBlock = 16u << 10;
constexpr std::uint64_t kMaxLoaderCache = 64u << 20;

/// The minor version N of the glibc 2.N that is loaded: the highest version node of libc.so.6.
std::optional<std::uint64_t> glibc_minor(const Snapshot& snapshot) {
  constexpr std::string_view kNode = "GLIBC_2.";
  std::optional<std::uint64_t> highest;
  for (const auto& object : snapshot.objects) {
    const ElfFacts* elf = object.elf.get();
    if (elf == nullptr || elf->soname != "libc.so.6") continue;
    for (const auto& node : elf->version_definitions) {
      if (!node.starts_with(kNode)) continue;
      const auto number = std::string_view(node).substr(kNode.size());
      if (auto minor = parse_unsigned(number.substr(0, number.find('.')), 10)) {
        highest = std::max(highest.value_or(0), *minor);
      }
    }
  }
  return highest;
}

std::string libc_name(const Snapshot& snapshot) {
  for (const auto& object : snapshot.objects) {
    if (!object.executable) continue;
    const ElfFacts* elf = object.elf.get();
    const std::string_view name = base_name(object.path());
    if (name.starts_with("ld-musl") || name.starts_with("libc.musl")) return "musl";
    if (name == "libc.so.6" || (elf != nullptr && elf->soname == "libc.so.6")) return "glibc";
  }
  return {};
}

/// What can be read of a process without its maps.
struct SideLook {
  Result<LinkMapLook> link = LinkMapLook();
  Fact<Environment> environment;
};

/// Link map and environment: what lies in the target's memory.
SideLook read_memory_facts(const CaptureContext& context) {
  context.progress("read link map", context.process.shown("mem"));
  ProcessMemory memory = context.memory(context.callable_pid(context.options.pid));
  CachedSource cache(memory, kMemoryBlock);
  SideLook look;
  look.link = read_link_map(cache, read_auxv(context.process));
  // Its beginning and its end are where the process says, and so may be any page.
  const std::string environ = context.process.shown("environ");
  if (context.is_skipped(environ)) {
    look.environment = Fact<Environment>::unknown(no_answer(environ).message);
    return look;
  }
  context.progress("read environment", environ);
  look.environment = read_environment(context.process, cache, look.link ? &*look.link : nullptr);
  return look;
}

/// What the loader lists is loaded, though none of its mappings be executable now: tools that move
/// code to huge pages replace them by anonymous memory.
void mark_listed(Snapshot& snapshot) {
  const auto* const namespaces = snapshot.link_map.get();
  if (namespaces == nullptr) return;
  for (const LinkNamespace& space : *namespaces) {
    for (const LinkEntry& entry : space.entries) {
      if (entry.object) snapshot.objects[*entry.object].executable = true;
    }
  }
}

void take_side_look(SideLook look, Snapshot& snapshot) {
  using LinkMapFact = Fact<std::vector<LinkNamespace>>;
  snapshot.environment = std::move(look.environment);
  if (look.link) {
    const AddressIndex index(snapshot.maps, snapshot.objects);
    snapshot.link_map = LinkMapFact::known(match_objects(*look.link, index));
    mark_listed(snapshot);
    return;
  }
  snapshot.link_map = LinkMapFact::unknown(look.link.error().message);
  if (look.link.error().kind == ErrorKind::unsupported) snapshot.process.libc = "static";
}

/// What only the objects' own facts tell; `version` is r_version.
void take_libc(Snapshot& snapshot, std::int32_t version) {
  if (auto libc = libc_name(snapshot); !libc.empty()) snapshot.process.libc = std::move(libc);
  const auto minor = glibc_minor(snapshot);
  // Until 2.34 the loader keeps one r_debug a namespace and links none of them to the first.
  constexpr std::uint64_t kLinkedSince = 35;
  if (snapshot.link_map.is_known() && version < 2 && minor && *minor < kLinkedSince) {
    snapshot.capture.notes.push_back(
        "glibc 2." + std::to_string(*minor) +
        " does not show other loader namespaces (dlmopen): their link maps were not seen");
  }
}

void read_loader_cache(const CaptureContext& context, Snapshot& snapshot) {
  using CacheFact = Fact<std::vector<LoaderCacheEntry>>;
  const std::string path = "/etc/ld.so.cache";
  if (context.is_skipped(path)) {
    snapshot.loader.cache = CacheFact::unknown(path + ": " + std::string(kNoAnswer));
    return;
  }
  context.progress("read loader cache", path);
  auto text = context.files.read_text(path, kMaxLoaderCache);
  if (!text) {
    snapshot.loader.cache = CacheFact::unknown(text.error().message);
    return;
  }
  const auto keep = [&](std::string_view soname) {
    return !context.rules.is_cuda_name || context.rules.is_cuda_name(soname);
  };
  auto entries = parse_ld_cache(std::as_bytes(std::span(*text)), keep);
  if (!entries) {
    snapshot.loader.cache = CacheFact::unknown(path + ": " + entries.error().message);
    return;
  }
  snapshot.loader.cache = CacheFact::known(std::move(*entries));
}

/// What one round shows can lead to more: the preload file names libraries, those need others.
void read_wanted(const CaptureContext& context, Snapshot& snapshot, DiskReader& disk) {
  if (!context.rules.wanted) return;
  constexpr int kRounds = 3;
  std::set<DiskRequest> known;
  for (int round = 0; round < kRounds; ++round) {
    auto requests = context.rules.wanted(snapshot);
    std::erase_if(requests, [&](const auto& request) { return !known.insert(request).second; });
    const std::size_t before = known.size() - requests.size();
    const std::size_t room = DiskReader::kMaxRequests - std::min(DiskReader::kMaxRequests, before);
    if (requests.size() > room) {
      snapshot.capture.notes.push_back(
          "only the first " + std::to_string(DiskReader::kMaxRequests) + " of " +
          std::to_string(known.size()) + " paths that the rules ask for were looked at");
      requests.resize(room);
      round = kRounds;
    }
    if (requests.empty()) return;
    for (const auto& request : requests) disk.read(request);
  }
}

Result<void> take_maps(const CaptureContext& context, Snapshot& snapshot) {
  context.progress("read maps", context.process.shown("maps"));
  auto look = read_maps(context.process, reader_threads(context));
  if (!look) return tl::unexpected(look.error());
  snapshot.maps = std::move(look->table);
  snapshot.capture.maps_reads = look->reads;
  snapshot.capture.maps_consistent = look->consistent;
  if (!look->consistent) {
    snapshot.capture.notes.push_back("the mappings changed during each of " +
                                     std::to_string(look->reads) + " reads");
  }
  snapshot.objects = group_objects(snapshot.maps);
  return {};
}

/// Facts that need the living process, and of the disk what is found without those of its objects.
Result<void> read_live_facts(const CaptureContext& context, const ProcDirectory& root,
                             Snapshot& snapshot, DiskReader& disk) {
  Result<void> maps;
  SideLook look;
  run_together(
      context, [&] { maps = take_maps(context, snapshot); },
      [&](const CaptureContext& second) {
        look = read_memory_facts(second);
        add_own_facts(snapshot.process);
        second.progress("count its children", context.process.path());
        snapshot.process.children = count_children(context.process, context.options.pid);
        // The held root keeps its own file system only: with the last process of a mount namespace
        // what is mounted below goes away, and /dev would look empty.
        add_device_nodes(second, snapshot.process);
        snapshot.host = read_host(root, second, snapshot.process);
        read_loader_cache(second, snapshot);
      });
  if (!maps) return maps;
  const std::int32_t version = look.link ? look.link->version : 0;
  take_side_look(std::move(look), snapshot);
  const PythonSigns signs = find_python_signs(snapshot.objects);
  ProcessMemory memory = context.memory(context.callable_pid(context.options.pid));
  Result<void> python;
  const SlotPlaces places = read_objects(context, memory, snapshot, [&] {
    disk.know_objects();
    python = read_python(context, snapshot, disk, signs);
    find_installed(context, snapshot, disk);
  });
  if (!python) return python;
  disk.use_objects();
  take_libc(snapshot, version);
  context.progress("read slots", context.process.shown("mem"));
  read_slots(memory, places, snapshot);
  return {};
}

Error explained(Error error, const ProcessFacts& process) {
  if (error.kind != ErrorKind::permission) return error;
  return refused(std::move(error), process, ::geteuid());
}

}  // namespace

Result<Snapshot> capture_process(const CaptureOptions& options, const CaptureRules& rules) {
  Snapshot snapshot;
  snapshot.capture.taken_at = utc_now();
  auto root = ProcDirectory::open(options.proc_root);
  if (!root) return tl::unexpected(root.error());
  auto process = open_process(*root, options.pid);
  if (!process) return tl::unexpected(process.error());
  auto facts = read_process_facts(*process, options.pid);
  if (!facts) return tl::unexpected(facts.error());
  snapshot.process = std::move(*facts);

  auto files = open_files(*root, *process, snapshot.process);
  if (!files) return tl::unexpected(explained(files.error(), snapshot.process));
  if (!files->note().empty()) snapshot.capture.notes.push_back(files->note());
  const auto silent = silent_mounts(*process, options.skip_paths);
  const CaptureContext context{options, rules, *process, *files, options.progress, silent};
  if (const std::string line = process->shown("cmdline"); context.is_skipped(line)) {
    snapshot.process.command_line =
        Fact<std::vector<std::string>>::unknown(no_answer(line).message);
  } else {
    context.progress("read command line", line);
    snapshot.process.command_line = read_command_line(*process);
  }
  if (const std::string exe = process->shown("exe"); !context.is_skipped(exe)) {
    context.progress("read executable", exe);
    auto supported = check_supported(*process, options.pid);
    if (!supported) return tl::unexpected(supported.error());
  }
  DiskReader disk(context, snapshot);
  auto live = read_live_facts(context, *root, snapshot, disk);
  auto still_there = check_still_there(*root, snapshot.process);
  if (!still_there) return tl::unexpected(still_there.error());
  if (!live) return tl::unexpected(explained(live.error(), snapshot.process));
  if (snapshot.maps.rows.empty()) {
    return fail(ErrorKind::not_found, "PID " + std::to_string(options.pid) +
                                          " maps nothing: it is a kernel thread or is ending");
  }

  // From here on the target may end: its root directory is held open.
  auto peers = read_peers(*root, context);
  if (!peers) return tl::unexpected(peers.error());
  snapshot.peers = std::move(*peers);
  Owners owners;
  run_together(
      context, [&] { read_wanted(context, snapshot, disk); },
      [&](const CaptureContext& second) { owners = find_owners(second, snapshot); });
  add_owners(std::move(owners), snapshot);
  find_more_owners(context, snapshot);
  return snapshot;
}

}  // namespace cudart_doctor
