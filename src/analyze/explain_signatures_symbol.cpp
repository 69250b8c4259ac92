// Missing symbols, the particular ones before the broad ones; and the table as a whole.
#include <vector>

#include "explain_signatures.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kRows{
    Signature{
        .id = "device-link",
        .patterns = {"undefined symbol: __cudaRegisterLinkedBinary"},
        .meaning = "The program's own device link is at fault: no libcudart ever had this name.",
        .printed_by = "the dynamic loader",
        .causes = {Cause{"Device code was linked once statically and once shared, or not at all."}},
        .check = "How the program's device code is linked; another runtime does not help.",
        .command = kLook,
        .seen = "celeritas-project/celeritas#1497"},
    Signature{
        .id = "cupti-mixed",
        .patterns = {"undefined symbol: cupti"},
        .meaning = "A CUPTI of another toolkit was loaded before the one that the package needs.",
        .printed_by = "the dynamic loader, when torch is imported",
        .causes = {Cause{"CUDA's libraries come from several toolkits.", "RT10"},
                   Cause{"The object needs a newer library than the one that serves it.", "SY01"}},
        .check = "LD_LIBRARY_PATH: it outranks the run path of wheels.",
        .command = kLook,
        .seen = "pytorch/pytorch#157381"},
    Signature{.id = "stand-in-lacks-symbol",
              .patterns = {"undefined symbol: __cudaInitModule|"},
              .meaning =
                  "What carries the runtime's soname lacks a function that every genuine runtime "
                  "of the major has.",
              .printed_by = "the dynamic loader",
              .causes = {Cause{"A stand-in with the public soname is loaded.", "RT03"},
                         Cause{"The object needs a newer runtime.", "SY01"}},
              .check = "Which file is mapped as libcudart, and which package brought it.",
              .command = kLook,
              .seen = "OvenMediaLabs/OvenMediaEngine#2026"},
    Signature{.id = "runtime-version-missing",
              .patterns = {"version `libcudart.so*not found", "version 'libcudart.so*not found",
                           "no version information available*libcudart.so"},
              .meaning = "The file that serves as the runtime lacks the version node of the major.",
              .printed_by = "the dynamic loader",
              .causes = {Cause{"The runtime in use is of another release or major.", "SY01"},
                         Cause{"A stand-in carries the runtime's name.", "RT03"},
                         Cause{"Runtimes of two majors are there.", "RT06"}},
              .check = "Which file is mapped as libcudart.",
              .command = kLook},
    Signature{.id = "runtime-symbol-missing",
              .patterns = {"undefined symbol: cuda*, version libcudart.so",
                           "undefined symbol: __cuda*, version libcudart.so",
                           "undefined symbol: __cudaRegisterFatBinaryEnd|",
                           "undefined symbol: cudaGetDriverEntryPoint"},
              .meaning =
                  "An object was built for a newer CUDA runtime of the same soname than the one "
                  "that is loaded.",
              .printed_by = "the dynamic loader (ImportError)",
              .causes = {Cause{"The loaded runtime lacks the symbol.", "SY01"},
                         Cause{"A look-alike carries the runtime's soname.", "RT03"},
                         Cause{"Two runtimes carry one soname, and the older came first.", "RT05"}},
              .check = "Which runtime is loaded first; load the newer one, or build for this one.",
              .command = kLook,
              .seen = "sgl-project/sglang#5695 flashinfer-ai/flashinfer#928 NVIDIA/cutlass#2079 "
                      "open-mmlab/mmdetection#385"},
    Signature{.id = "runtime-function-missing",
              .patterns = {"undefined symbol: cuda", "undefined symbol: __cuda"},
              .meaning = "What was taken for the CUDA runtime lacks a function.",
              .printed_by = "ctypes (AttributeError), the dynamic loader",
              .causes = {Cause{"A consumer took a look-alike.", "RT04"},
                         Cause{"The object needs a newer runtime.", "SY01"},
                         Cause{"A look-alike is mapped.", "RT03"}},
              .check = "The path in front of the message: is it a genuine runtime?",
              .command = kLook},
    Signature{
        .id = "driver-symbol-missing",
        .patterns = {"undefined symbol: cuGreenCtx", "undefined symbol: cuMem",
                     "undefined symbol: cuCtx", "undefined symbol: cuMulticast",
                     "undefined symbol: cuTensorMap", "undefined symbol: cuLibrary",
                     "undefined symbol: cuDevice", "undefined symbol: cuGetProcAddress"},
        .meaning = "An object asks the driver for a function that it does not have.",
        .printed_by = "the dynamic loader",
        .causes = {Cause{"The driver is older than the object.", "SY02"},
                   Cause{"The library that was loaded as libcuda is no driver.", "DR03"},
                   Cause{"The toolkit's link-time stub, of another release, was loaded.", "DR01"}},
        .check = "The driver's version beside the CUDA version that the package was built for.",
        .command = kLook,
        .seen = "sgl-project/sglang#8131"},
};

std::vector<Signature> make_table() {
  std::vector<Signature> all;
  for (const auto family :
       {runtime_signatures(), sharing_signatures(), driver_signatures(), symbol_signatures()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace

std::span<const Signature> symbol_signatures() { return kRows; }

std::span<const Signature> signatures() {
  static const std::vector<Signature> table = make_table();
  return table;
}

}  // namespace cudart_doctor
