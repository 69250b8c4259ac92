// Who the target is: stat, status, exe, cmdline and namespaces of a process.
#pragma once

#include <cstdint>
#include <map>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {

/// Opens /proc/PID. Errors: not_found ("no process with PID 7"), permission (hidepid).
Result<ProcDirectory> open_process(const ProcDirectory& root, std::int64_t pid);

/// Facts of a process that can be looked into, without its command line, its device nodes and the
/// doctor's own facts: nothing of this lies in its memory. Errors: not_found (kernel thread,
/// zombie), gone, permission, malformed.
Result<ProcessFacts> read_process_facts(const ProcDirectory& process, std::int64_t pid);

/// Lies in its memory, where the process says, and so may never answer.
Fact<std::vector<std::string>> read_command_line(const ProcDirectory& process);

/// Processes that this one started and that are still its own, so many at least: each thread lists
/// its own. 0 where the kernel has no such lists.
std::uint32_t count_children(const ProcDirectory& process, std::int64_t pid);

/// The doctor's own namespaces and rights, without its device nodes.
void add_own_facts(ProcessFacts& facts);

/// The auxiliary vector; empty where it cannot be read.
std::map<std::uint64_t, std::uint64_t> read_auxv(const ProcDirectory& process);

/// Fails with `unsupported` where the executable is not 64-bit little-endian. Reads the executable
/// itself; one that cannot be read is no reason to stop.
Result<void> check_supported(const ProcDirectory& process, std::int64_t pid);

/// The error for a process that ended in mid-capture.
Error ended(std::int64_t pid);

/// `error`, a refusal of the kernel's, with what it means for this process and who may look:
/// `own_uid` is the doctor's effective user. Pure.
Error refused(Error error, const ProcessFacts& process, std::uint32_t own_uid);

/// The target's root directory. Errors: gone, where the target ended in between; permission, io.
Result<TargetFiles> open_files(const ProcDirectory& root, const ProcDirectory& process,
                               const ProcessFacts& facts);

/// Fails with `gone` when the process ended or its PID belongs to another one by now.
Result<void> check_still_there(const ProcDirectory& root, const ProcessFacts& facts);

}  // namespace cudart_doctor
