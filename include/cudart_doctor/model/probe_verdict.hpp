// What the probe says of the runtime in question and of each way to share device memory. Plain
// data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

enum class ProbeOutcome : std::uint8_t {
  not_run,
  works,          ///< Every stage ran and passed, and nothing speaks against it for the target.
  does_not,       ///< A stage failed, crashed or hung.
  not_confirmed,  ///< Something was skipped, or the children's view is not the target's.
};

/// One way to share memory, and who needs it.
struct MechanismVerdict {
  Mechanism mechanism = Mechanism::legacy_memory;
  ProbeOutcome outcome = ProbeOutcome::not_run;
  std::string reason;     ///< "refused: 1 (cudaErrorInvalidValue)", "IP01"; "" when it works.
  std::string needed_by;  ///< "custom all-reduce of vLLM and SGLang"
};

struct ProbeVerdict {
  ProbeOutcome outcome = ProbeOutcome::not_run;
  std::string sentence;        ///< The answer, printable.
  std::optional<Stage> stage;  ///< The first stage that did not pass.
  std::optional<int> code;     ///< Its CUDA result code.
  std::string cause;           ///< Why, as far as it is known.
  std::string finding;         ///< Id of the finding that says more; "" where there is none.
  std::string remedy;
  std::optional<Owner> owner;                ///< Whose it is, where it does not work.
  std::vector<MechanismVerdict> mechanisms;  ///< In the order of Mechanism.
};

}  // namespace cudart_doctor
