// The interpreter that --python names, as a shell means such a name.
#pragma once

#include <string>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// `text` as an absolute path: a bare name is searched on this program's PATH, any other path is
/// relative to its working directory. Whether it is a Python is seen in the target's view. Errors:
/// usage (no such name on PATH), io (the working directory is gone).
Result<std::string> absolute_python(const std::string& text);

}  // namespace cudart_doctor
