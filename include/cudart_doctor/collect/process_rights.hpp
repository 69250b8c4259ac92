// What a process may do: groups, capabilities, seccomp, cgroup, and the NVIDIA device nodes that it
// sees. Nodes are looked up and never opened: opening one may wake a card.
#pragma once

#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// Errors: permission, gone, io.
Result<StatusFile> read_status(const ProcDirectory& process);

/// All rights but the device nodes; what `status` does not tell is unknown with the reason.
ProcessRights read_rights(const ProcDirectory& process, const Result<StatusFile>& status);

/// The device nodes of the context's process, by path. A process without /dev, or without any, has
/// an empty list that is known; one path that cannot be looked up makes the list unknown.
Fact<std::vector<DeviceNode>> read_device_nodes(const CaptureContext& context);

/// Device nodes of the target and of the doctor, which often sees the same ones.
void add_device_nodes(const CaptureContext& context, ProcessFacts& facts);

}  // namespace cudart_doctor
