// The scans of /proc/self/maps, each as its consumer's code has it: text lines in, one answer out.
// Nothing is opened here; the same functions serve the answer and its stability.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/model/selection.hpp"

namespace cudart_doctor {

struct ScanAnswer {
  Outcome outcome = Outcome::none;   ///< selected, none, unexpected_filename or no_path.
  std::string text;                  ///< What is opened; for unexpected_filename the file name.
  std::optional<std::uint32_t> row;  ///< The maps row of the answer.
};

using ScanRule = ScanAnswer (*)(std::span<const PythonLine> lines, StepLog& log);

/// First line that contains libcudart; the file name is asserted, the deleted mark kept.
ScanAnswer scan_legacy(std::span<const PythonLine> lines, StepLog& log);
/// The same line without any look at the file name.
ScanAnswer scan_b12x(std::span<const PythonLine> lines, StepLog& log);
/// First file name that begins with "libcudart." or "libcudart-"; the deleted mark kept.
ScanAnswer scan_vllm(std::span<const PythonLine> lines, StepLog& log);
/// All of libcudart's stem, one deleted mark cut; the first without "stub", else the first.
ScanAnswer scan_sglang(std::span<const PythonLine> lines, StepLog& log);
/// The same with the deleted mark kept.
ScanAnswer scan_sglang_draft(std::span<const PythonLine> lines, StepLog& log);
/// Whole file name libcudart[-HASH].so[.N...]; HASH of hexadecimal digits in both cases.
ScanAnswer scan_flashinfer(std::span<const PythonLine> lines, StepLog& log);
/// HASH of anything but dots.
ScanAnswer scan_flashinfer_draft(std::span<const PythonLine> lines, StepLog& log);
/// HASH of hexadecimal digits in lower case.
ScanAnswer scan_anchored_hex(std::span<const PythonLine> lines, StepLog& log);

}  // namespace cudart_doctor
