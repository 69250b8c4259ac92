// What a program inherits and would hand on to its children had it not changed it: the signal mask,
// which signals are ignored, which standard descriptors are closed.
#pragma once

#include <array>
#include <csignal>

namespace cudart_doctor {

struct StartState {
  sigset_t mask{};
  sigset_t ignored{};
  std::array<bool, 3> closed{};  ///< Descriptors 0 to 2.
};

/// The state of the calling thread in this moment: what the program itself got, where this is the
/// first thing that main() does.
StartState current_state();

}  // namespace cudart_doctor
