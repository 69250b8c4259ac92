#include "cudart_doctor/collect/capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
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
#include "cudart_doctor/collect/object_reader.hpp"
#include "cudart_doctor/collect/owners.hpp"
#include "cudart_doctor/collect/peers.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/collect/process_rights.hpp"
#include "cudart_doctor/collect/python_env.hpp"
#include "cudart_doctor/collect/read_maps.hpp"
#include "cudart_doctor/collect/read_objects.hpp"
#include "cudart_doctor/collect/slots.hpp"
#include "cudart_doctor/formats/ld_cache.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

// The loader's structures lie close together in the heap, one module's after the other's.
constexpr std::size_t kMemoryBlock = 16u << 10;
constexpr std::uint64_t kMaxLoaderCache = 64u << 20;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

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

/// Link map and environment: what lies in the target's memory.
void read_memory_facts(const CaptureContext& context, ProcessMemory& memory, Snapshot& snapshot) {
  context.progress("read link map", context.process.path());
  CachedSource cache(memory, kMemoryBlock);
  auto look = read_link_map(cache, read_auxv(context.process));
  snapshot.process.libc = libc_name(snapshot);
  if (look) {
    const AddressIndex index(snapshot.maps, snapshot.objects);
    snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(match_objects(*look, index));
    const auto minor = glibc_minor(snapshot);
    // Until 2.34 the loader keeps one r_debug a namespace and links none of them to the first.
    constexpr std::uint64_t kLinkedSince = 35;
    if (look->version < 2 && minor && *minor < kLinkedSince) {
      snapshot.capture.notes.push_back(
          "glibc 2." + std::to_string(*minor) +
          " does not show other loader namespaces (dlmopen): their link maps were not seen");
    }
  } else {
    snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown(look.error().message);
    if (look.error().kind == ErrorKind::unsupported && snapshot.process.libc.empty()) {
      snapshot.process.libc = "static";
    }
  }
  snapshot.environment = read_environment(context.process, cache, look ? &*look : nullptr);
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

/// What the loader lists is loaded, though none of its mappings be executable now: tools that move
/// code to huge pages replace them by anonymous memory.
/// Returns where their slots are.
SlotPlaces read_listed_objects(const CaptureContext& context, ProcessMemory& memory,
                               Snapshot& snapshot) {
  SlotPlaces places;
  const auto* const namespaces = snapshot.link_map.get();
  if (namespaces == nullptr) return places;
  ObjectReader reader(context, memory);
  for (const LinkNamespace& space : *namespaces) {
    for (const LinkEntry& entry : space.entries) {
      if (!entry.object) continue;
      LoadedObject& object = snapshot.objects[*entry.object];
      if (object.executable) continue;
      object.executable = true;
      if (object.elf.is_asked()) continue;
      if (snapshot.capture.not_elf > 0) --snapshot.capture.not_elf;
      object.state_note.clear();
      ReadOutcome outcome = reader.read(object, snapshot.maps);
      if (outcome.slots.is_asked()) places[*entry.object] = std::move(outcome.slots);
      count(snapshot.capture, std::move(outcome));
    }
  }
  return places;
}

/// Facts that need the living process.
Result<void> read_live_facts(const CaptureContext& context, Snapshot& snapshot) {
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
  ProcessMemory memory(context.process, context.callable_pid(context.options.pid));
  SlotPlaces places = read_objects(context, memory, snapshot);
  read_memory_facts(context, memory, snapshot);
  places.merge(read_listed_objects(context, memory, snapshot));
  context.progress("read slots", context.process.path());
  read_slots(memory, places, snapshot);
  // The held root keeps its own file system only: with the last process of a mount namespace what
  // is mounted below goes away, and /dev would look empty.
  add_device_nodes(context, snapshot.process);
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
  add_own_facts(snapshot.process);

  auto files = open_files(*root, *process, snapshot.process);
  if (!files) return tl::unexpected(explained(files.error(), snapshot.process));
  if (!files->note().empty()) snapshot.capture.notes.push_back(files->note());
  const CaptureContext context{options, rules, *process, *files, options.progress};
  if (const std::string exe = process->shown("exe"); !context.is_skipped(exe)) {
    context.progress("read executable", exe);
    auto supported = check_supported(*process, options.pid);
    if (!supported) return tl::unexpected(supported.error());
  }
  auto live = read_live_facts(context, snapshot);
  snapshot.host = read_host(*root, context, snapshot.process);
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
  read_loader_cache(context, snapshot);
  DiskReader disk(context, snapshot);
  auto python = read_python(context, snapshot, disk);
  if (!python) return tl::unexpected(python.error());
  find_installed(context, snapshot, disk);
  read_wanted(context, snapshot, disk);
  find_owners(context, snapshot, disk);
  return snapshot;
}

}  // namespace cudart_doctor
