// How much room the thread-local variables of a command's libraries take in the block that the
// loader lays out first. With an audit library it does that before it knows those libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudart_doctor {

/// Bytes for the libraries that the loader will load when `command` starts: those that LD_PRELOAD and
/// ld.so.preload name, and those that the program needs, as far as they are found. Of a command
/// whose words name further programs (numactl, env), what the most demanding of them needs. Not the
/// C library, for which the loader leaves room. Where the words or scripts among them set LD_PRELOAD
/// themselves, no less than a usual allocator needs.
std::uint64_t static_tls_of(const std::vector<std::string>& command);

}  // namespace cudart_doctor
