// ld.so.cache in its new format (glibc-ld.so.cache1.1), also behind an old-format header.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Entries whose soname passes `keep`, in cache order. Errors: malformed, limit.
Result<std::vector<LoaderCacheEntry>> parse_ld_cache(
    std::span<const std::byte> bytes, const std::function<bool(std::string_view)>& keep);

}  // namespace cudart_doctor
