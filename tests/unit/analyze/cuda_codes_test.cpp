#include "cudart_doctor/analyze/cuda_codes.hpp"

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("every code that findings speak of has a name") {
  for (const int code :
       {1,   34,  35,  36,  46,  98,  100, 101, 200, 201, 205, 208, 209, 217, 221, 222,
        223, 304, 400, 800, 801, 802, 803, 804, 805, 806, 807, 808, 809, 810, 999}) {
    INFO(code);
    CHECK_FALSE(cuda_runtime_code_name(code).empty());
  }
}

TEST_CASE("a code is named by the interface that gave it") {
  CHECK(cuda_code_name(1, "cudaIpcGetMemHandle") == "cudaErrorInvalidValue");
  CHECK(cuda_code_name(1, "cuMemCreate") == "CUDA_ERROR_INVALID_VALUE");
}

TEST_CASE("a code that nobody knows has no name") {
  CHECK(cuda_runtime_code_name(-1).empty());
  CHECK(cuda_runtime_code_name(123456).empty());
  CHECK(cuda_driver_code_name(98).empty());
}
