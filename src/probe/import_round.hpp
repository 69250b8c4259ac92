// One CUDA IPC round trip, the importer's side: what the exporter's messages ask for.
#pragma once

#include <cstdint>

#include "candidate_session.hpp"
#include "child_world.hpp"
#include "round_stages.hpp"

namespace cudart_doctor {

class ImportRound {
 public:
  /// `memory` is the message that opens the round.
  ImportRound(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
              const PeerMessage& memory);

  /// ipc_import and ipc_compute.
  StageAnswer open_memory();
  /// The first half of ipc_event.
  StageAnswer open_event(const PeerMessage& message);
  /// The second half: waits on the device and on the host, then looks at the data.
  StageAnswer wait_event();
  /// ipc_close; ends the round.
  StageAnswer close();

 private:
  StageAnswer import();
  StageAnswer compute();
  StageAnswer wait_and_look();
  StageAnswer release();
  [[nodiscard]] int device() const;
  [[nodiscard]] DevicePointer sample() const;

  ChildWorld& world_;
  CandidateSession& session_;
  PeerMessage memory_;
  RoundStages stages_;
  void* buffer_ = nullptr;
  void* event_ = nullptr;
  bool event_open_ = false;  ///< ipc_event has begun and not ended.
};

}  // namespace cudart_doctor
