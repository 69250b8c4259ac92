// Any bytes as ld.so.cache.
#include <cstdint>
#include <span>

#include "cudart_doctor/formats/ld_cache.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)cudart_doctor::parse_ld_cache(std::as_bytes(std::span(data, size)),
                                      [](std::string_view) { return true; });
  return 0;
}
