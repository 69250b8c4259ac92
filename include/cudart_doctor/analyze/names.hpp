// The names that consumers bind, and the names and strings by which a runtime is known.
#pragma once

#include <span>
#include <string_view>

namespace cudart_doctor {

/// Bound eagerly by vLLM, SGLang and FlashInfer up to 0.6.16, in this order.
std::span<const std::string_view> names_rt10();
/// rt10 and cudaIpcCloseMemHandle: FlashInfer from 0.6.17.
std::span<const std::string_view> names_rt11();
/// rt10, cudaHostRegister, cudaHostUnregister and cudaGetLastError: vLLM from 0.31.0.
std::span<const std::string_view> names_rt13();
/// FlashInfer's second wrapper (experimental b12x, from 0.7.2): no cudaDeviceReset among them.
std::span<const std::string_view> names_b12x();
/// Bound by name by cuDNN's front end at first use.
std::span<const std::string_view> names_cudnn_frontend();
/// TileLang's shim: all or nothing, three optional names left out.
std::span<const std::string_view> names_tilelang();
/// Taken over by the preloaded hook of torch_memory_saver.
std::span<const std::string_view> names_memory_saver();

}  // namespace cudart_doctor
