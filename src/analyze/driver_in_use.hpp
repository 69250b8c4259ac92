// The driver library that CUDA calls end at: the mapped one, else the one that a load of
// libcuda.so.1 would reach.
#pragma once

#include <optional>

#include "cudart_doctor/analyze/rules.hpp"

namespace cudart_doctor {

/// Nothing where none is mapped and the search finds none, or cannot be worked out.
std::optional<Companion> driver_in_use(const Observations& seen);

/// True where a search for libcuda.so.1 is known to find nothing, and none is mapped.
bool is_driver_absent(const Observations& seen);

/// What the loader's configuration or variables must lose so that `companion` is not met.
std::string driver_way_out(const Snapshot& snapshot, const Companion& companion);

/// "libcuda 575.57.08, kernel module 580.105.08"; "" where one of them is not known.
std::string driver_versions(const Snapshot& snapshot, const Companion& companion);

}  // namespace cudart_doctor
