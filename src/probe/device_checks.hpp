// What is checked on one device without the other child: memory, kernels through the candidate,
// the control through the Driver API, the driver's JIT compiler, a copy between two devices.
#pragma once

#include "candidate_session.hpp"
#include "child_frames.hpp"
#include "child_world.hpp"

namespace cudart_doctor {

/// A round trip of bytes through memset and memcpy.
StageAnswer check_memory(DeviceMemory& memory);
/// Every mHC operator through the candidate.
StageAnswer check_kernels(CandidateSession& session, int device);
/// One operator through the Driver API, on the current context.
StageAnswer check_control(ChildWorld& world);
/// One operator from PTX text, compiled by the driver now.
StageAnswer check_ptx(ChildWorld& world);
/// cudaDeviceCanAccessPeer and a copy; its yes alone proves nothing.
StageAnswer check_peer_copy(CandidateSession& session, Place place);

}  // namespace cudart_doctor
