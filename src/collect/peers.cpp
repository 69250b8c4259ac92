#include "cudart_doctor/collect/peers.hpp"

#include <set>
#include <string>
#include <utility>

#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/live_environment.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/collect/process_rights.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMemoryBlock = 16u << 10;

/// Of the peer's environment this one variable is kept.
Fact<std::string> read_visible_devices(const CaptureContext& peer, std::int64_t pid) {
  const std::string path = peer.process.shown("mem");
  if (peer.is_skipped(path)) return Fact<std::string>::unknown(no_answer(path).message);
  peer.progress("read peer's environment", path);
  // The descriptor that a caller may hold is of the target's memory.
  ProcessMemory memory(peer.process, peer.callable_pid(pid));
  CachedSource cache(memory, kMemoryBlock);
  auto environment = read_environment(peer.process, cache, nullptr);
  if (environment.is_unknown()) {
    // Servers name their workers by a process title; the link map is asked for only then.
    auto look = read_link_map(cache, read_auxv(peer.process));
    environment = read_environment(peer.process, cache, look ? &*look : nullptr);
  }
  const Environment* const variables = environment.get();
  if (variables == nullptr) return Fact<std::string>::unknown(environment.reason());
  const std::string* const value = variables->find("CUDA_VISIBLE_DEVICES");
  return Fact<std::string>::known(value != nullptr ? *value : std::string());
}

Result<PeerFacts> read_peer(const ProcDirectory& root, const CaptureContext& target,
                            std::int64_t pid) {
  auto process = open_process(root, pid);
  if (!process) return tl::unexpected(process.error());
  target.progress("read peer", process->path());
  auto facts = read_process_facts(*process, pid);
  if (!facts) return tl::unexpected(facts.error());
  auto files = open_files(root, *process, *facts);
  if (!files) return tl::unexpected(files.error());
  const auto silent = silent_mounts(*process, target.options.skip_paths);
  const CaptureContext context{target.options, target.rules, *process, *files, target.step, silent};

  PeerFacts peer;
  peer.pid = pid;
  peer.rights = std::move(facts->rights);
  peer.rights.device_nodes = read_device_nodes(context);
  peer.visible_devices = read_visible_devices(context, pid);
  peer.uid = facts->uid;
  peer.comm = facts->comm;
  peer.ns_pids = facts->ns_pids;
  peer.namespaces = facts->namespaces;
  peer.found_by = "named with --peer";
  auto there = check_still_there(root, *facts);
  if (!there) return tl::unexpected(there.error());
  return peer;
}

}  // namespace

Result<std::vector<PeerFacts>> read_peers(const ProcDirectory& root, const CaptureContext& target) {
  std::vector<PeerFacts> peers;
  std::set<std::int64_t> seen;
  for (const std::int64_t pid : target.options.peers) {
    const std::string named = "--peer " + std::to_string(pid);
    if (pid == target.options.pid) {
      return fail(ErrorKind::usage, named + " is the inspected process itself");
    }
    if (!seen.insert(pid).second) continue;
    auto peer = read_peer(root, target, pid);
    if (!peer) {
      const Error& error = peer.error();
      return fail(error.kind, named + ": " + error.message, error.sys_errno);
    }
    peers.push_back(std::move(*peer));
  }
  return peers;
}

}  // namespace cudart_doctor
