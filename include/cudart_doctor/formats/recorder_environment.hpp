// The variables that bring the recorder into a command. Pure.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// The value of LD_AUDIT: `own` (the caller's, "" for none), then `library`.
std::string recorder_audit(std::string_view own, std::string_view library);

/// The value of GLIBC_TUNABLES: `own` (the caller's, "" for none) and room for thread-local variables.
/// With any audit library glibc lays out the block that they are in before it knows what the program
/// needs: without more room a command with jemalloc (LD_PRELOAD) could not start, "cannot allocate
/// memory in static TLS block". Where `own` sets that room already, nothing is changed.
std::string recorder_tunables(std::string_view own);

}  // namespace cudart_doctor
