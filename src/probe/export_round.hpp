// One CUDA IPC round trip, the exporter's side.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "candidate_session.hpp"
#include "child_world.hpp"
#include "round_stages.hpp"

namespace cudart_doctor {

/// What a round says of the two legacy mechanisms.
struct RoundResult {
  StageAnswer memory;
  StageAnswer event;
};

/// Round `round` on `place`; the importer's `peer_device` is where it opens the handle.
RoundResult export_round(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
                         std::pair<Place, std::uint32_t> where);

/// The stages of a round that is not run.
void skip_round(const StageFrames& frames, Place place, std::string_view reason);

/// Why an importer's answer was none.
inline constexpr std::string_view kImporterGone = "the importer ended";

}  // namespace cudart_doctor
