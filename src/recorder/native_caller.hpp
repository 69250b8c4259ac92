// Who called dlopen: the return address on the own stack.
#pragma once

#include <link.h>

#include <cstdint>

namespace cudart_doctor::recorder {

/// The first return address on the stack, from this frame on, that lies in the code of `requester`,
/// as an offset from its bias; 0 where there is none within the limit, or memory cannot be read
/// without a fault.
std::uint64_t find_native_caller(const link_map& requester);

}  // namespace cudart_doctor::recorder
