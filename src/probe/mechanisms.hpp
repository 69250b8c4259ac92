// How processes could share memory of one device beside the legacy handles: tried, not asked.
#pragma once

#include "candidate_session.hpp"
#include "child_world.hpp"
#include "export_round.hpp"

namespace cudart_doctor {

/// One frame for each mechanism of `device`, whose context is current. `legacy` is what the round
/// trip showed.
void check_mechanisms(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
                      std::pair<int, const RoundResult*> legacy);

/// What the exporter leaves in shared virtual memory, and what the importer puts there.
inline constexpr std::uint8_t kExporterByte = 0x5a;
inline constexpr std::uint8_t kImporterByte = 0xc3;
inline constexpr std::size_t kVmmLooked = 4096;

}  // namespace cudart_doctor
