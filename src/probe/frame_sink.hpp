// Puts the frames of both children into one outcome. A child is not trusted: frames that cannot be
// of its order are refused.
#pragma once

#include <string_view>

#include "child_stream.hpp"
#include "pair.hpp"

namespace cudart_doctor {

/// False: not a frame of this order.
bool accept_frame(const Frame& frame, const ProbeOrder& order, ChildStream& stream,
                  PairOutcome& outcome);

/// Adds the open stage of a lost child as one that has begun, or what comes nearest to it.
void close_lost(ChildStream& stream, std::string_view reason, PairOutcome& outcome);

}  // namespace cudart_doctor
