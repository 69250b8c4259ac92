// The families of the table of signatures, and the commands that they share.
#pragma once

#include <span>
#include <string_view>

#include "cudart_doctor/analyze/explain.hpp"

namespace cudart_doctor {

inline constexpr std::string_view kLook = "cudart-doctor --pid PID";
inline constexpr std::string_view kProbe = "cudart-doctor --pid PID --probe on";
inline constexpr std::string_view kPeers = "cudart-doctor --pid PID --peer OTHER --probe on";
inline constexpr std::string_view kHere = "cudart-doctor";

/// Selecting and loading a runtime, and reading the mappings.
std::span<const Signature> runtime_signatures();
/// Sharing memory between processes and cards.
std::span<const Signature> sharing_signatures();
/// The driver's library, its kernel module, NVML.
std::span<const Signature> driver_signatures();
/// Missing symbols; the broad ones stand at the end.
std::span<const Signature> symbol_signatures();

}  // namespace cudart_doctor
