// The rules that turn observations into findings, one unit a family. Each returns what it found;
// order and verdict are judge's business.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/provenance.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// What the rules may look at.
struct Observations {
  const Snapshot& snapshot;
  std::span<const Candidate> candidates;
  std::span<const Companion> companions;
  std::span<const Consumer> consumers;
  std::span<const Selection> selections;
  std::span<const Provenance> provenance;  ///< One for each candidate, in their order.
};

/// RT01-RT03, RT05, RT06, RT11.
std::vector<Finding> judge_runtimes(const Observations& seen);
/// RT04, RT07, RT08: what the scanning rules do with the candidates.
std::vector<Finding> judge_selections(const Observations& seen);
/// MP01-MP08.
std::vector<Finding> judge_mappings(const Observations& seen);
/// DR01, DR03-DR05: of the mapped driver library, and where none is mapped of the one that a load
/// of libcuda.so.1 would reach.
std::vector<Finding> judge_driver(const Observations& seen);
/// RT09: runtimes' names that the loader does not find.
std::vector<Finding> judge_sonames(const Observations& seen);
/// RT10: libraries of one CUDA release that come from two.
std::vector<Finding> judge_origins(const Observations& seen);
/// RT12: preloads that a new process cannot load.
std::vector<Finding> judge_preloads(const Observations& seen);
/// SY03: the mapped NVRTCs and their builtins.
std::vector<Finding> judge_nvrtc(const Observations& seen);
/// SY01, SY02, SY04: of mapped objects, and of files that the user named.
std::vector<Finding> judge_symbols(const Observations& seen);
/// SY06: of the profiles that the user named.
std::vector<Finding> judge_profiles(const Observations& seen);
/// IP01, IP04, IP05.
std::vector<Finding> judge_ipc(const Observations& seen);
/// IP02, IP03, IP07: the target beside the processes that it shares memory with.
std::vector<Finding> judge_peers(const Observations& seen);
/// IP08: libraries that stand between the program and CUDA.
std::vector<Finding> judge_interposers(const Observations& seen);
/// DR10, DR12: NVML and MPS, as far as they show without a CUDA call.
std::vector<Finding> judge_node(const Observations& seen);
/// What judge_driver wants to know about the disk.
std::vector<DiskRequest> wanted_by_driver(const Snapshot& snapshot);

/// What judge_sonames wants to know about the disk.
std::vector<DiskRequest> wanted_by_sonames(const Snapshot& snapshot);
/// What judge_preloads wants to know about the disk; to be asked again once that was read.
std::vector<DiskRequest> wanted_by_preloads(const Snapshot& snapshot);
/// What judge_nvrtc wants to know about the disk.
std::vector<DiskRequest> wanted_by_nvrtc(const Snapshot& snapshot);

/// A finding with the fixed parts of its catalogue entry filled in. `id` must be in the catalogue.
Finding start_finding(std::string_view id, Severity severity, std::string headline);

/// The genuine runtimes that are loaded, counted by identity (device and inode; one inode with one
/// build-id under two device numbers is one), never by name. By address.
std::vector<const Candidate*> distinct_runtimes(const Snapshot& snapshot,
                                                std::span<const Candidate> candidates);

/// Appends `more` to `to`.
void append_findings(std::vector<Finding>& to, std::vector<Finding> more);

/// True for the kinds that look like a runtime and are none: stub, shim, stand-in.
bool is_fake(RuntimeKind kind);

/// True for loaded candidates that a consumer could take for a runtime and that are none.
bool is_look_alike(const Candidate& candidate);

/// True for a rule that a consumer has beside its main one, for an experimental part that few use.
bool is_side_rule(const Selection& selection);

/// True where a scanning rule's answer may raise a finding at full severity: its consumer is in
/// the target in this vintage, or cannot be excluded, and it is the consumer's main rule.
bool counts_in_full(const Selection& selection);

/// "FlashInfer 0.6.14" where the rule's vintage is installed, else the row's title ("FlashInfer up
/// to 0.6.16"): how a finding names the consumer behind a rule.
std::string consumer_phrase(const Selection& selection);

/// Loaded libraries whose contents could not be read. What is no ELF file at all is not one.
std::size_t count_unread_libraries(const Snapshot& snapshot);

/// "12.4" of "12.4.127"; "" where there are no two numbers.
std::string release_of(std::string_view version);

/// The first 12 digits of a build-id, which tell two apart where a line has room for both.
std::string short_build_id(std::string_view build_id);

/// "7f1a10000000", as maps writes addresses.
std::string shown_address(std::uint64_t address);

}  // namespace cudart_doctor
