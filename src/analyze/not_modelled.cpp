// What is known of other consumers and is no row of the table.
#include <array>

#include "cudart_doctor/analyze/policy.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kNotModelled{
    NotModelled{"vllm-rocm", "vLLM on ROCm",
                "Scans maps for libamdhip64 (or for libcudart before it) and binds HIP names: no "
                "CUDA runtime is taken, except a look-alike that fails at hipSetDevice."},
    NotModelled{"sglang-musa", "SGLang on MUSA",
                "Scans maps for libmusart: no CUDA runtime is taken."},
    NotModelled{"maps-try-all", "FlashInfer #3705 (not merged)",
                "The first of all candidates that has every name; the merged rule is "
                "flashinfer-2026-09."},
    NotModelled{"maps-skip-stub", "vLLM #41746 (not merged)",
                "Skips what is called _stub; whether in the file name or in the whole path is not "
                "known."},
    NotModelled{"flashinfer-cake", "FlashInfer's experimental CAKE kernels",
                "Ask for libcudart.so.13, .12 and the bare name by soname; the dlopen rows answer "
                "that."},
    NotModelled{"dt-needed", "DeepEP, LMDeploy, mscclpp, llama.cpp, bitsandbytes",
                "Need the soname of the major that they were built for, with their own run path; "
                "the dlopen rows answer for a soname, not for each of these run paths. "
                "bitsandbytes chooses its own library by BNB_CUDA_VERSION or PyTorch's major "
                "before that."},
    NotModelled{"find-library", "ctypes.util.find_library",
                "Asks ldconfig, gcc and ld for a soname, then opens that: running programs is not "
                "simulated; the dlopen rows answer for the soname."},
    NotModelled{"jax-plugin", "JAX",
                "Opens nvidia.cuda_runtime's libcudart.so.12 and nvidia.cu13's libcudart.so.13 by "
                "path, each where it is installed, and fails silently; then xla-dso."},
    NotModelled{"xla-dso", "XLA in JAX and TensorFlow",
                "dlopen of libcudart.so.N of the major that it was built for, which only its code "
                "knows; the dlopen rows answer for both."},
    NotModelled{"onnxruntime-preload", "ONNX Runtime",
                "Only where the program calls preload_dlls(): a file below the argument's folder "
                "or nvidia/cuda_runtime/lib, else the bare name; the argument is not visible from "
                "outside."},
    NotModelled{"numba-cuda", "numba-cuda",
                "Takes no runtime: its version comes from NVRTC, all calls go to the driver. The "
                "path that it can print for cudart is not opened."},
    NotModelled{"ctranslate2", "CTranslate2",
                "Holds a static runtime and opens cuBLAS by soname; see the row static."},
    NotModelled{"triton-libcuda", "Triton",
                "Takes no runtime: it looks for libcuda.so.1 by TRITON_LIBCUDA_PATH, else in "
                "ldconfig's list."},
    NotModelled{"deepep-nccl-check", "DeepEP",
                "Compares all mapped libnccl files; a deleted one counts as a duplicate. No "
                "runtime is chosen by it."},
    NotModelled{"vllm-pynccl", "vLLM's NCCL wrapper",
                "VLLM_NCCL_SO_PATH, else libnccl.so.2: no runtime is chosen by it."},
    NotModelled{"libcuda-by-cudart", "every CUDA runtime",
                "Each runtime, shared or static, opens exactly libcuda.so.1; the findings DR01 to "
                "DR05 judge that."},
};

}  // namespace

std::span<const NotModelled> not_modelled() { return kNotModelled; }

}  // namespace cudart_doctor
