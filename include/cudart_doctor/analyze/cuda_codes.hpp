// The names of CUDA's result codes: what an operator searches for. The driver's CUresult shares its
// numbers with the runtime's cudaError_t wherever both have the code.
#pragma once

#include <string_view>

namespace cudart_doctor {

/// "cudaErrorInsufficientDriver" for 35; "" for a code that is not known here.
std::string_view cuda_code_name(int code);

}  // namespace cudart_doctor
