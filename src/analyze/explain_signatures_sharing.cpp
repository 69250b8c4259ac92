// Error texts of sharing memory: CUDA IPC handles, descriptors, peer access, hooks in between.
#include "explain_signatures.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kRows{
    Signature{
        .id = "all-reduce-invalid-argument",
        .patterns = {"custom_all_reduce.cu*invalid argument",
                     "register_graph_buffers*invalid argument"},
        .meaning = "Custom all-reduce could not export or open a handle of the process's memory, "
                   "most often right after graph capture.",
        .printed_by = "vLLM and SGLang; the process ends without a Python trace",
        .causes = {Cause{"PyTorch allocates by the virtual-memory calls (expandable_segments), "
                         "which legacy handles do not cover.",
                         "IP01"},
                   Cause{"The peer does not have the exporter's card.", "IP03"},
                   Cause{"The handle is refused for another reason.", "IP09"}},
        .check = "PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF of the process.",
        .command = kProbe,
        .seen = "vllm-project/vllm#42609 vllm-project/vllm#49101 vllm-project/vllm#56180"},
    Signature{
        .id = "pidfd-refused",
        .patterns = {"pidfd_getfd*Operation not permitted", "pidfd_open*Operation not permitted",
                     "pidfd_getfd*Function not implemented", "pidfd_open*Function not implemented"},
        .meaning = "A descriptor of shared device memory could not be taken out of the other "
                   "process.",
        .printed_by = "PyTorch with expandable segments",
        .causes = {Cause{"Yama's ptrace_scope, seccomp or a missing capability forbids it.",
                         "IP05"},
                   Cause{"The setting that makes descriptors necessary is on.", "IP01"}},
        .check = "CAP_SYS_PTRACE, kernel.yama.ptrace_scope, the container's seccomp profile.",
        .command = kPeers,
        .seen = "pytorch/pytorch#165685 verl-project/verl#3377"},
    Signature{.id = "pidfd-bad-descriptor",
              .patterns = {"pidfd_getfd*Bad file descriptor"},
              .meaning =
                  "Reader and writer disagree on the kind of handle (descriptor or fabric). It is "
                  "no matter of rights.",
              .printed_by = "PyTorch with expandable segments, on GB200",
              .causes = {Cause{"Both sides take the handle for different kinds.", "IP05"},
                         Cause{"The setting that makes descriptors necessary is on.", "IP01"}},
              .check = "A newer PyTorch on both sides, or the setting off.",
              .command = kPeers,
              .seen = "pytorch/pytorch#179220"},
    Signature{
        .id = "ipc-open-invalid-context",
        .patterns = {"IpcOpenMemHandle*invalid device context", "cuda_ipc*invalid device context",
                     "IpcOpenMemHandle*CUDA_ERROR_INVALID_CONTEXT|"},
        .meaning = "The driver took the handle for the importer's own and refused it. Services "
                   "often hide this and fall back to slow copies.",
        .printed_by = "UCX and NIXL in the debug log, programs that open handles",
        .causes = {Cause{"Two PID namespaces in which both processes have the same PID.", "IP02"},
                   Cause{"The process opens its own handle.", "IP07"},
                   Cause{"The importer sees other devices.", "IP03"}},
        .check = "NSpid in /proc/PID/status of both processes.",
        .command = kPeers,
        .seen = "vllm-project/vllm#55906 openucx/ucx#11226 openucx/ucx#11978"},
    Signature{.id = "ipc-export-refused",
              .patterns = {"IpcGetMemHandle*invalid argument", "IpcGetMemHandle*invalid value",
                           "IpcGetMemHandle*cudaErrorInvalidValue|",
                           "IpcGetMemHandle*CUDA_ERROR_INVALID_VALUE|"},
              .meaning =
                  "The memory cannot be exported by a legacy handle: it is of the virtual-memory "
                  "calls, of a stream-ordered pool, or pinned host memory.",
              .printed_by = "programs that export device memory",
              .causes = {Cause{"The allocator is set to such memory.", "IP01"},
                         Cause{"Export fails for another reason.", "IP09"}},
              .check = "How the buffer was allocated: cudaMalloc is what handles are for.",
              .command = kProbe,
              .seen = "chelsea0x3b/cudarc#521 vllm-project/vllm#45611"},
    Signature{.id = "ipc-handle-not-opened",
              .patterns = {"failed to open CUDA IPC handle"},
              .meaning =
                  "A handle of another process was refused. Codes 1, 101, 201 and 205 have all "
                  "been seen for the same cause.",
              .printed_by = "NCCL, Triton Inference Server",
              .causes = {Cause{"The importer does not have the exporter's card.", "IP03"},
                         Cause{"Both are PID 1 (or the like) of two containers.", "IP02"},
                         Cause{"The handle is of another node, or the process's own.", "IP07"},
                         Cause{"The handle is refused for another reason.", "IP09"}},
              .check = "Device nodes and namespaces of both processes.",
              .command = kPeers,
              .seen = "NVIDIA/nccl#360 triton-inference-server/server#6872"},
    Signature{.id = "device-uuid-unknown",
              .patterns = {"Device UUID not found", "Device UUID *not found"},
              .meaning = "The importer sees no card with the exporter's UUID.",
              .printed_by = "LMCache",
              .causes = {Cause{"The processes have different cards, or one has none.", "IP03"},
                         Cause{"CUDA_VISIBLE_DEVICES names no card.", "DR14"}},
              .check = "nvidia-smi -L in both containers.",
              .command = kPeers,
              .seen = "LMCache/LMCache#4186"},
    Signature{
        .id = "peer-enable-mapping-failed",
        .patterns = {"EnablePeerAccess*mapping of buffer object failed",
                     "EnablePeerAccess*cudaErrorMapBufferObjectFailed|",
                     "EnablePeerAccess*CUDA_ERROR_MAP_FAILED|"},
        .meaning = "Peer access was promised by the query and failed when it was switched on.",
        .printed_by = "programs that use several cards",
        .causes = {Cause{"BAR size, IOMMU or topology do not allow it.", "IP06"}},
        .check = "BAR1 size (nvidia-smi -q), the IOMMU (iommu=off), the firmware's settings.",
        .command = kProbe,
        .seen = "tinygrad/open-gpu-kernel-modules#16"},
    Signature{.id = "sharing-hook",
              .patterns = {"libvgpu.so*invalid device ordinal", "HAMi-core*invalid device ordinal",
                           "[HAMI-core ERROR", "libvgpu.so*from LD_PRELOAD cannot be preloaded",
                           "libvgpu.so*undefined symbol"},
              .meaning = "A hook for sharing cards stands between the program and libcuda.",
              .printed_by = "HAMi-core (libvgpu.so), the dynamic loader",
              .causes = {Cause{"The hook changes what CUDA and NVLink calls give.", "IP08"},
                         Cause{"The peer's card is hidden.", "IP03"}},
              .check = "LD_PRELOAD and /etc/ld.so.preload; repeat in a whole-card pod without it.",
              .command = kLook,
              .seen = "Project-HAMi/HAMi#2760 Project-HAMi/HAMi#1764 Project-HAMi/HAMi#2641"},
};

}  // namespace

std::span<const Signature> sharing_signatures() { return kRows; }

}  // namespace cudart_doctor
