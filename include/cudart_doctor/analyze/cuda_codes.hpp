// What CUDA's result codes are called. One code has several causes: show it with its call and side.
#pragma once

#include <string_view>

namespace cudart_doctor {

/// "cudaErrorInvalidValue"; "" for a code that is not known here.
std::string_view cuda_runtime_code_name(int code);

/// "CUDA_ERROR_INVALID_VALUE"; "" for a code that the driver does not have.
std::string_view cuda_driver_code_name(int code);

/// The name that goes with `call`: the driver's for "cuMemCreate", the runtime's for "cudaMalloc".
std::string_view cuda_code_name(int code, std::string_view call);

}  // namespace cudart_doctor
