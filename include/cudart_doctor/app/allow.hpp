// The allowances of a command line, those in files included.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/analyze/allow.hpp"
#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// No more of an allow-file is read.
inline constexpr std::size_t kMaxAllowFile = std::size_t{256} << 10U;

/// Contents of the files of --allow-file, in their order. May block where a file does not answer; a
/// pipe can be read once. Errors: usage: a file that cannot be read or is too long.
Result<std::vector<std::string>> read_allow_files(const std::vector<std::string>& paths);

/// What they allow; `texts` are the contents of `paths`. Errors: usage: a line that is no
/// allowance.
Result<std::vector<Allowance>> parse_allow_files(const std::vector<std::string>& paths,
                                                 const std::vector<std::string>& texts);

}  // namespace cudart_doctor
