// The variables that bring the recorder into a command. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cudart_doctor {

/// The value of LD_AUDIT: `own` (the caller's, "" for none), then `library`.
std::string recorder_audit(std::string_view own, std::string_view library);

/// The value of GLIBC_TUNABLES: `own` (the caller's, "" for none) and room for the thread-local
/// variables of the command's libraries, `needed` bytes. With any audit library glibc lays out the
/// block that they are in before it knows them: without more room a command with jemalloc
/// (LD_PRELOAD) could not start, "cannot allocate memory in static TLS block". The block is taken
/// out of each thread's stack, so there is no more than is needed. `own` where little is needed, or
/// where it sets that room already.
std::string recorder_tunables(std::string_view own, std::uint64_t needed);

}  // namespace cudart_doctor
