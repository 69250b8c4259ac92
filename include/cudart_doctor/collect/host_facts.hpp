// The host that the target runs on: its name, kernel, NVIDIA kernel module, Yama's setting, and
// signs of a platform where CUDA has no IPC.
#pragma once

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// `root` is /proc; `facts` with the device nodes of the target and of the doctor.
HostFacts read_host(const ProcDirectory& root, const CaptureContext& context,
                    const ProcessFacts& facts);

}  // namespace cudart_doctor
