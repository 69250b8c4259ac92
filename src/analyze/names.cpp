// The lists of names that consumers bind, in bind order. Read in vLLM, SGLang, FlashInfer,
// cudnn-frontend (include/cudnn_frontend_shim.h, 1.24 to 1.32) and TileLang (0.1.8 to 0.1.15).
#include "cudart_doctor/analyze/names.hpp"

#include <array>

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 11> kScanned = {
    "cudaSetDevice",
    "cudaDeviceSynchronize",
    "cudaDeviceReset",
    "cudaGetErrorString",
    "cudaMalloc",
    "cudaFree",
    "cudaMemset",
    "cudaMemcpy",
    "cudaIpcGetMemHandle",
    "cudaIpcOpenMemHandle",
    "cudaIpcCloseMemHandle",
};

constexpr std::array<std::string_view, 13> kVllm = {
    "cudaSetDevice",       "cudaDeviceSynchronize",
    "cudaDeviceReset",     "cudaGetErrorString",
    "cudaMalloc",          "cudaFree",
    "cudaMemset",          "cudaMemcpy",
    "cudaIpcGetMemHandle", "cudaIpcOpenMemHandle",
    "cudaHostRegister",    "cudaHostUnregister",
    "cudaGetLastError",
};

constexpr std::array<std::string_view, 9> kB12x = {
    "cudaGetErrorString",
    "cudaSetDevice",
    "cudaMalloc",
    "cudaFree",
    "cudaMemset",
    "cudaMemcpyAsync",
    "cudaIpcGetMemHandle",
    "cudaIpcOpenMemHandle",
    "cudaIpcCloseMemHandle",
};

// Those that every version of the front end has asked for; newer ones add names that depend on the
// runtime's major (cudaGraphNodeGetDependencies_v2 only on 12).
constexpr std::array<std::string_view, 31> kCudnnFrontend = {
    "cudaGraphCreate",
    "cudaGraphGetNodes",
    "cudaGraphAddChildGraphNode",
    "cudaGraphAddMemcpyNode1D",
    "cudaGraphAddMemsetNode",
    "cudaGraphGetRootNodes",
    "cudaGraphChildGraphNodeGetGraph",
    "cudaGraphNodeGetDependentNodes",
    "cudaGraphMemcpyNodeSetParams1D",
    "cudaGraphMemsetNodeSetParams",
    "cudaStreamBeginCapture",
    "cudaStreamIsCapturing",
    "cudaStreamCreate",
    "cudaStreamDestroy",
    "cudaStreamEndCapture",
    "cudaGraphDestroy",
    "cudaEventCreate",
    "cudaEventDestroy",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaEventElapsedTime",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "cudaGetDeviceProperties",
    "cudaGetDevice",
    "cudaGetErrorString",
    "cudaPointerGetAttributes",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaMalloc",
    "cudaFree",
};

constexpr std::array<std::string_view, 37> kTilelang = {
    "cudaDeviceGetAttribute",
    "cudaDeviceSynchronize",
    "cudaEventCreate",
    "cudaEventDestroy",
    "cudaEventElapsedTime",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaFree",
    "cudaFreeHost",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetDeviceProperties",
    "cudaGetLastError",
    "cudaGraphDestroy",
    "cudaGraphExecDestroy",
    "cudaGraphInstantiate",
    "cudaGraphLaunch",
    "cudaIpcCloseMemHandle",
    "cudaIpcGetMemHandle",
    "cudaIpcOpenMemHandle",
    "cudaMalloc",
    "cudaMallocHost",
    "cudaMemGetInfo",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemcpyPeerAsync",
    "cudaMemset",
    "cudaMemsetAsync",
    "cudaPeekAtLastError",
    "cudaSetDevice",
    "cudaStreamBeginCapture",
    "cudaStreamCreate",
    "cudaStreamCreateWithFlags",
    "cudaStreamDestroy",
    "cudaStreamEndCapture",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
};

constexpr std::array<std::string_view, 2> kMemorySaver = {"cudaMalloc", "cudaFree"};

}  // namespace

std::span<const std::string_view> names_rt10() { return std::span(kScanned).first<10>(); }
std::span<const std::string_view> names_rt11() { return kScanned; }
std::span<const std::string_view> names_rt13() { return kVllm; }
std::span<const std::string_view> names_b12x() { return kB12x; }
std::span<const std::string_view> names_cudnn_frontend() { return kCudnnFrontend; }
std::span<const std::string_view> names_tilelang() { return kTilelang; }
std::span<const std::string_view> names_memory_saver() { return kMemorySaver; }

}  // namespace cudart_doctor
