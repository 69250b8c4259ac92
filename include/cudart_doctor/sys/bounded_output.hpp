// The report's file where it may never answer: a dead network mount, a FUSE server that hangs.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// As write_output, by a child that is ended where it has not written the file after `limit`.
/// stdout, pipes and devices are written by the caller itself, without a limit: there a reader is
/// waited for, who may be a person. Where no child can be had, so is the file. Errors: usage,
/// naming the path.
Result<void> write_output_within(const std::string& path, std::string_view bytes,
                                 std::chrono::milliseconds limit);

}  // namespace cudart_doctor
