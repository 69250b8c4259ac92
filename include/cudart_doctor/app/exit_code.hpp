// What an error that ended the run is worth as an exit code.
#pragma once

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/exit_style.hpp"

namespace cudart_doctor {

/// How a run ends that an error of this kind ended.
constexpr RunEnd end_for(ErrorKind kind) {
  return kind == ErrorKind::usage ? RunEnd::usage : RunEnd::undecided;
}

}  // namespace cudart_doctor
