// Candidates: everything that is, calls itself or behaves like a CUDA runtime, and its companions
// (driver, NVRTC, NVML). Identity comes from contents; the file name is only evidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor {

enum class RuntimeKind : std::uint8_t {
  genuine,        ///< NVIDIA's libcudart, under whatever file name or soname.
  stub,           ///< Named or sonamed like a runtime, without the API (or a few names only).
  shim,           ///< Forwards a part of the API to a real runtime (TileLang's library).
  stand_in,       ///< Other vendor's or project's object that offers the API under its own code.
  static_copy,    ///< A genuine runtime linked into another object; private, not selectable.
  not_a_runtime,  ///< Only the name contains the word.
  undetermined,   ///< The signs disagree, or the object could not be read; `evidence` lists them.
};

/// Where a candidate lies: a mapped object, or a file on disk that is not mapped.
struct Candidate {
  std::optional<std::size_t> object;  ///< Index into Snapshot::objects.
  std::string path;                   ///< As bytes; of the object, or of the file on disk.
  RuntimeKind kind = RuntimeKind::undetermined;
  bool loaded = false;       ///< Mapped with an executable segment.
  std::string version;       ///< "12.8" or fuller ("12.8.90"); "" when unknown.
  std::string version_from;  ///< "constant in code", "file name", "text in the library", ...
  std::optional<int> major;  ///< 11, 12, 13: from contents, not from the name.
  std::string soname;
  std::string label;    ///< One or two words: "TileLang shim", "vendored copy", "empty stub".
  std::string package;  ///< "tilelang 0.1.11" where a distribution on disk owns it.
  std::uint32_t exported = 0;  ///< Exported runtime functions.
  bool exports_known = false;  ///< The symbol table was walked.
  std::vector<std::string>
      missing;                      ///< Of the names that the scanning consumers bind (bind order).
  std::uint32_t names_asked = 0;    ///< How many names `missing` was drawn from; 0: not looked up.
  bool soname_disagrees = false;    ///< Soname's major is not the contents' (masquerade).
  bool vendored = false;            ///< Genuine with a private soname, e.g. a hashed one.
  bool selectable_by_name = false;  ///< Some name rule could take it.
  std::optional<std::string> build_id;
  std::vector<std::string> evidence;  ///< How the kind is known; one sentence each.
};

enum class CompanionKind : std::uint8_t {
  driver,         ///< Genuine libcuda.
  driver_compat,  ///< Genuine libcuda of a forward-compatibility package (ELF note).
  driver_stub,    ///< The toolkit's link-time libcuda.
  driver_shim,    ///< A partial libcuda (TileLang's libcuda_stub.so / libstub_cuda.so).
  driver_broken,  ///< Named libcuda, but empty, cut, no ELF, wrong soname or without cuInit.
  nvrtc,
  nvrtc_stub,
  nvrtc_shim,
  nvml,
  nvml_stub,
  undetermined,
};

struct Companion {
  std::optional<std::size_t> object;  ///< Nothing: on disk only.
  std::string path;
  CompanionKind kind = CompanionKind::undetermined;
  bool loaded = false;
  std::string soname;
  std::string version;
  std::string version_from;
  std::string found_by;  ///< For files on disk: which rule reaches it.
  std::vector<std::string> evidence;
};

enum class Presence : std::uint8_t { present, absent, unknown };

/// A framework that picks a CUDA runtime, and whether it is in the target.
struct Consumer {
  std::string id;    ///< "vllm", "sglang", "flashinfer", "tilelang", "torch", "cudnn-frontend"
  std::string name;  ///< "vLLM", as the user knows it.
  Presence presence = Presence::unknown;
  std::string version;       ///< "" when unknown.
  std::string vintage;       ///< Id of the policy whose vintage is installed, "" when unknown.
  std::string vintage_from;  ///< "text of .../cuda_wrapper.py", "version 0.5.9".
  std::vector<std::string>
      signs;  ///< "mapped .../vllm/_C.abi3.so", "vllm-0.9.dist-info", "command line"
};

}  // namespace cudart_doctor
