// Error texts of selecting and loading a runtime. Patterns are the telling parts of what consumers
// and the loader print; sources are the public reports in `seen`.
#include "explain_signatures.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kRows{
    Signature{
        .id = "stub-lacks-symbol",
        .patterns = {"libcudart_stub.so*undefined symbol: cuda",
                     "libstub_cudart.so*undefined symbol: cuda"},
        .meaning = "A consumer took TileLang's stub for the CUDA runtime and found a function "
                   "missing.",
        .printed_by = "vLLM, SGLang, FlashInfer (AttributeError of ctypes), at import or first use",
        .versions = "vLLM before 0.26.0, SGLang before 0.5.16, FlashInfer before 0.7.1; with "
                    "TileLang before 0.1.12",
        .causes = {Cause{"The consumer's scan of the mappings takes the stub.", "RT04"},
                   Cause{"It takes it on some starts only: the first by address wins.", "RT07"},
                   Cause{"The override that was set is not read, since the scan found something.",
                         "RT11"}},
        .check = "Upgrade the consumer or TileLang; restart all ranks, since a failed binding is "
                 "not tried again.",
        .command = kLook,
        .seen = "vllm-project/vllm#47586 vllm-project/vllm#41746 flashinfer-ai/flashinfer#3676 "
                "modelscope/ms-swift#9494"},
    Signature{
        .id = "fusion-disabled",
        .patterns = {"Disabling flashinfer allreduce fusion"},
        .meaning = "FlashInfer's fused all-reduce could not be set up and is off until restart; "
                   "the server runs on, slower.",
        .printed_by = "SGLang, on every tensor-parallel rank",
        .versions = "SGLang before 0.5.16 with TileLang before 0.1.12, where the stub is the cause",
        .causes = {Cause{"FlashInfer took a look-alike for the CUDA runtime.", "RT04"},
                   Cause{"Its workspace could not be shared: descriptors are not passed.", "IP05"},
                   Cause{"The cards do not reach each other's memory.", "IP06"},
                   Cause{"CUDA IPC does not work between the ranks.", "IP09"}},
        .check = "The reason stands in the lines before it, at the first occurrence.",
        .command = kProbe,
        .seen = "sgl-project/sglang#30875 sgl-project/sglang#30580"},
    Signature{.id = "two-majors-warning",
              .patterns = {"cuDNN Frontend warning: Multiple libcudart",
                           "Multiple libcudart libraries found*Using libcudart.so.12"},
              .meaning = "Two CUDA majors can be opened; cuDNN's front end goes on with CUDA 12.",
              .printed_by = "cuDNN's front end",
              .versions = "1.25.0 and later; before, the same situation ended the process",
              .causes = {Cause{"Runtimes of two majors are loaded or installed.", "RT06"}},
              .check = "Where PyTorch is for CUDA 13, set CUDNN_FRONTEND_CUDART_LIB_NAME to "
                       "libcudart.so.13.",
              .command = kLook,
              .seen = "NVIDIA/cudnn-frontend#211"},
    Signature{
        .id = "two-majors",
        .patterns = {"Multiple libcudart libraries found"},
        .meaning = "cuDNN's front end can open libcudart.so.12 and libcudart.so.13, and refuses "
                   "both.",
        .printed_by = "cuDNN's front end (std::runtime_error), also inside SGLang's warm-up",
        .versions = "1.19 to 1.24.1; a warning since 1.25.0",
        .causes = {Cause{"Runtimes of two majors are loaded or installed.", "RT06"}},
        .check = "Remove the packages of one major, or install cuDNN's front end 1.25 or later.",
        .command = kLook,
        .seen = "NVIDIA/cudnn-frontend#211 sgl-project/sglang#29071"},
    Signature{.id = "override-not-opened",
              .patterns = {"Unable to load libcudart library specified by CUDNN_FRONTEND_CUDART"},
              .meaning = "The library that the override names cannot be opened.",
              .printed_by = "cuDNN's front end",
              .versions = "1.25.0 and later",
              .causes = {Cause{"The variable names a file that is not there.", "RT11"}},
              .check = "The value of CUDNN_FRONTEND_CUDART_LIB_NAME in the process's environment.",
              .command = kLook},
    Signature{.id = "no-runtime-opens",
              .patterns = {"Unable to load any libcudart.so"},
              .meaning = "cuDNN's front end can open neither libcudart.so.12 nor libcudart.so.13.",
              .printed_by = "cuDNN's front end (std::runtime_error)",
              .causes = {Cause{"No runtime is mapped, and the loader finds none.", "RT01"},
                         Cause{"The runtime is linked into other objects only.", "RT02"},
                         Cause{"The runtime that is there has another soname.", "RT09"}},
              .check = "Import torch first, or name the runtime in CUDNN_FRONTEND_CUDART_LIB_NAME.",
              .command = kLook},
    Signature{
        .id = "not-loaded",
        .patterns = {"libcudart is not loaded in the current process",
                     "libcudart.so is not loaded in the current process",
                     "try setting VLLM_CUDART_SO_PATH"},
        .meaning = "A consumer searched the list of mappings and found no line that its rule "
                   "accepts.",
        .printed_by = "vLLM, SGLang, FlashInfer",
        .versions = "all; vLLM before pull 7620 (2024-08) does not know names with a hash",
        .causes = {Cause{"A runtime is mapped under a name that the rule does not know.", "RT08"},
                   Cause{"The runtime is linked into other objects only.", "RT02"},
                   Cause{"No runtime is mapped: nothing has loaded CUDA yet.", "RT01"},
                   Cause{"It was loaded from memory and has no path.", "MP03"}},
        .check = "vLLM alone reads VLLM_CUDART_SO_PATH, and only in this situation.",
        .command = kLook,
        .seen = "vllm-project/vllm#7588 vllm-project/vllm#12998"},
    Signature{
        .id = "unexpected-filename",
        .patterns = {"Unexpected filename: *for library libcudart"},
        .meaning = "The first mapping with \"libcudart\" in its line is not named like a runtime, "
                   "and the scan gives up on it.",
        .printed_by = "vLLM, SGLang, FlashInfer (AssertionError)",
        .versions = "vLLM before 0.26.0, SGLang before 0.5.16, FlashInfer before 0.7.1",
        .causes = {Cause{"The word stands in a directory name or a data mapping only.", "MP06"},
                   Cause{"A genuine runtime is mapped behind it and missed.", "RT08"},
                   Cause{"A look-alike carries the name.", "RT03"}},
        .check = "Rename the directory, or upgrade the consumer.",
        .command = kLook,
        .seen = "vllm-project/vllm#47586"},
    Signature{.id = "deleted-runtime-opened",
              .patterns = {"libcudart*(deleted): cannot open shared object file"},
              .meaning =
                  "A consumer took a mapping's text with its \" (deleted)\" mark for a path: the "
                  "runtime's file was removed or replaced under the running process.",
              .printed_by = "vLLM and others that open the text of a mapping (OSError)",
              .versions = "vLLM and FlashInfer before 0.7.1; vLLM 0.26 and later keep the mark too",
              .causes = {Cause{"The file was replaced, as by a reinstalled package.", "MP02"},
                         Cause{"The file was deleted.", "MP01"},
                         Cause{"No other runtime is there that the rule could take.", "RT08"}},
              .check = "Restart the process; opening the path without the mark would load a second "
                       "runtime.",
              .command = kLook,
              .seen = "vllm-project/vllm#13040"},
    Signature{.id = "duplicate-names",
              .patterns = {"Found duplicate*libcudart", "Found duplicate CUDA runtime files"},
              .meaning =
                  "Several names of a CUDA runtime were found. One file under two names is one "
                  "runtime, and harmless.",
              .printed_by = "bitsandbytes",
              .versions = "0.35 to 0.42; later releases ask PyTorch",
              .causes = {Cause{"One file and its links: a false alarm."},
                         Cause{"Two runtimes of one major are mapped.", "RT05"},
                         Cause{"Runtimes of two majors are there.", "RT06"}},
              .check = "Whether the names lead to one inode (ls -Li).",
              .command = kLook,
              .seen = "bitsandbytes-foundation/bitsandbytes#358"},
    Signature{
        .id = "soname-11",
        .patterns = {"libcudart.so.11: cannot open shared object file"},
        .meaning = "A consumer asked for libcudart.so.11, which never existed: the soname of all "
                   "11.x is libcudart.so.11.0.",
        .printed_by = "vLLM's custom all-reduce on CUDA 11.8 (OSError, or a time-out in start-up)",
        .versions = "vLLM before pull 6346 (2024-07)",
        .causes = {Cause{"The consumer makes the name from the major version.", "RT09"}},
        .check = "Upgrade the consumer.",
        .command = kLook,
        .seen = "vllm-project/vllm#6299"},
    Signature{
        .id = "program-lacks-runtime",
        .patterns = {"error while loading shared libraries: libcudart.so"},
        .meaning = "The loader ends a program at its start (exit 127): the program, or an object "
                   "in LD_PRELOAD, needs a runtime that is on no search path.",
        .printed_by = "the dynamic loader, often of a child process",
        .causes = {Cause{"A preloaded object needs the runtime, which only the parent's Python "
                         "can find.",
                         "RT12"},
                   Cause{"The runtime is there under another name or of another major.", "RT09"},
                   Cause{"No runtime is there at all.", "RT01"}},
        .check = "LD_PRELOAD and /etc/ld.so.preload; the wheel's runtime is in "
                 "site-packages/nvidia, which no fresh loader searches.",
        .command = kLook,
        .seen = "sgl-project/sglang#36533 ollama/ollama#602"},
    Signature{
        .id = "runtime-not-on-path",
        .patterns = {"libcudart.so*: cannot open shared object file"},
        .meaning = "The loader found no runtime of the soname that was asked for.",
        .printed_by = "the dynamic loader (OSError, ImportError)",
        .causes = {Cause{"The package is for another CUDA major, or the file has another name.",
                         "RT09"},
                   Cause{"No runtime is installed or loaded.", "RT01"},
                   Cause{"A runtime is mapped under a name with a hash.", "RT08"}},
        .check = "Which package asked: torch for one major with a companion for another is the "
                 "usual case.",
        .command = kLook,
        .seen = "vllm-project/vllm#52300 vllm-project/vllm#43435 ollama/ollama#602 "
                "kaito-project/kaito#2086"},
    Signature{
        .id = "runtime-not-in-system-path",
        .patterns = {"libcudart.so*not found in the system path"},
        .meaning = "The search along sys.path knows the wheels' layout only and found no "
                   "nvidia/cuda_runtime/lib there.",
        .printed_by = "PyTorch's preload step; vLLM before it read the mappings",
        .versions = "vLLM before pull 7127 (2024-08)",
        .causes = {Cause{"The runtime lies elsewhere, as in a conda environment's lib.", "RT08"},
                   Cause{"No wheel of this major is installed.", "RT09"},
                   Cause{"No runtime is installed.", "RT01"}},
        .check = "Where libcudart lies in this environment.",
        .command = kLook,
        .seen = "vllm-project/vllm#6893 pytorch/pytorch#147001"},
    Signature{
        .id = "common-ops-not-loaded",
        .patterns = {"Could not load any common_ops library"},
        .meaning = "SGLang's kernel package could not load its library; the loader's own message "
                   "stands near.",
        .printed_by = "sgl-kernel (ImportError)",
        .causes = {Cause{"It asks for libcudart.so.12, and only another major is there.", "RT09"},
                   Cause{"The library needs a symbol that the runtime lacks.", "SY01"},
                   Cause{"No runtime is loaded.", "RT01"}},
        .check = "Import torch first; install the kernel package of torch's CUDA major.",
        .command = kLook,
        .seen = "sgl-project/sglang#18203"},
    Signature{.id = "p2p-check-stuck",
              .patterns = {"stuck at*generating GPU P2P access cache",
                           "hangs at*generating GPU P2P access cache"},
              .meaning =
                  "The check which cards reach each other starts processes that load a runtime by "
                  "the consumer's rule, and does not end.",
              .printed_by = "people who report vLLM's start",
              .causes = {Cause{"The rule finds no runtime in this layout.", "RT08"},
                         Cause{"A copy between two cards never ends (IOMMU, ACS).", "IP06"},
                         Cause{"The rule takes a look-alike.", "RT04"}},
              .check = "Whether the start ends with custom all-reduce switched off.",
              .command = kProbe,
              .seen = "vllm-project/vllm#6893 vllm-project/vllm#8735 vllm-project/vllm#2728"},
    Signature{
        .id = "matched-twice",
        .patterns = {"matched by 2 libraries", "is matched against 2 libraries"},
        .meaning = "A tool read the list of mappings while it changed and saw one library twice.",
        .printed_by = "the sanitizers' run-time library",
        .causes = {Cause{"The mappings did not hold still during a read.", "MP08"}},
        .check = "Whether both paths of the message are the same: then it is harmless.",
        .command = kLook,
        .seen = "google/sanitizers#435"},
};

}  // namespace

std::span<const Signature> runtime_signatures() { return kRows; }

}  // namespace cudart_doctor
