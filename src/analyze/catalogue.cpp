// The catalogue of findings. docs/findings.md is generated from this table.
#include "cudart_doctor/analyze/catalogue.hpp"

#include <algorithm>
#include <array>

namespace cudart_doctor {
namespace {

constexpr std::array kCatalogue{
    CatalogueEntry{
        "DR01", "driver-stub", Owner::image, "critical",
        "The mapped libcuda, or the one that a fresh load of libcuda.so.1 would reach, is the "
        "toolkit's link-time stub: soname libcuda.so.1, no needed libraries, small, no version in "
        "its file name.",
        "Every CUDA call answers 34 (cudaErrorStubLibrary). The stub's soname also keeps a genuine "
        "driver out once the stub is loaded.",
        "Take the stubs directory out of LD_LIBRARY_PATH, the run paths and the loader's "
        "configuration; it is meant for linking only."},
    CatalogueEntry{
        "DR02", "driver-missing", Owner::node, "critical",
        "The probe's first CUDA call answers 35 with a driver version of 0 (or, where the version "
        "was "
        "not told, the loader finds no libcuda.so.1), and neither a stub nor a broken file "
        "explains "
        "it.",
        "The runtime asks the loader for libcuda.so.1 and finds none: no CUDA call can work.",
        "Start the container with the NVIDIA runtime, or install the driver."},
    CatalogueEntry{
        "DR03", "driver-not-genuine", Owner::image, "critical",
        "The first libcuda that the loader's search meets is empty, shorter than its program "
        "headers say, no ELF file, of another soname, or without cuInit.",
        "The loader stops at this file and does not try the next directory: CUDA cannot start.",
        "Delete the file, or mount the driver again; rebuild the image without the NVIDIA runtime "
        "as the build runtime."},
    CatalogueEntry{
        "DR04", "driver-user-kernel-mismatch", Owner::node, "critical",
        "The version of the libcuda in use differs from the NVIDIA kernel module's, and it is no "
        "compat library; or the driver answered 803 for another reason.",
        "The two halves of the driver refuse each other: CUDA does not start.",
        "Reboot, or load the kernel module of the installed driver; in a container start it again, "
        "and remove a driver that the image brought."},
    CatalogueEntry{
        "DR05", "compat-shadows-driver", Owner::image, "critical",
        "The libcuda in use is a forward-compatibility library (by its ELF note) and older than "
        "the NVIDIA kernel module.",
        "The host's own, newer libcuda is not reached; CUDA answers 803 and does not start.",
        "Take the compat directory out of the loader's configuration or LD_LIBRARY_PATH."},
    CatalogueEntry{"DR06", "compat-unsupported-gpu", Owner::image, "critical",
                   "The probe's first CUDA call answers 804: the forward-compatibility libcuda in "
                   "use does not support the card.",
                   "Forward compatibility is for data-centre cards, and for the driver branches "
                   "that the library's note names: CUDA does not start.",
                   "Remove the compat package, or update the host's driver."},
    CatalogueEntry{
        "DR07", "driver-older-than-runtime", Owner::node,
        "critical; error where only a runtime that the headline's rule does not take is too new",
        "The probe's first CUDA call answers 35 or 36, and the driver says of itself that it is "
        "for an older CUDA than the runtime.",
        "This runtime cannot be used with this driver: its calls answer 35 or 36.",
        "Install packages for a CUDA version that the driver knows, or a newer driver."},
    CatalogueEntry{"DR08", "image-unsupported", Owner::image, "error",
                   "The probe's sample kernel cannot be loaded: 200, 209, 218 or 222; or PTX "
                   "cannot be compiled: 221 (the driver's compiler is missing) or 223 (switched "
                   "off by CUDA_DISABLE_PTX_JIT).",
                   "The sample carries machine code for current cards and PTX of an old version: "
                   "where it fails, so do packages that were not built for the card. The owner is "
                   "the node for 221, the user for 223.",
                   "Install packages that were built for this card, or a newer driver; mount the "
                   "driver's compiler library; unset the variable."},
    CatalogueEntry{"DR09", "fabric-not-ready", Owner::node, "critical",
                   "The probe's first CUDA call answers 802.",
                   "The cards wait for the fabric manager, or for the ready state of confidential "
                   "computing: CUDA does not start.",
                   "Start the fabric manager of the driver's own version."},
    CatalogueEntry{
        "DR10", "nvml-unusable", Owner::node, "error",
        "The mapped NVML is a link-time stub or of another version than the kernel module, or NVML "
        "does not answer though the driver is here.",
        "Tools and frameworks that count cards by NVML see none, though CUDA itself may work.",
        "Start the container with the NVIDIA runtime; install NVML of the driver's own version."},
    CatalogueEntry{"DR11", "device-unavailable", Owner::node, "critical",
                   "The driver library is genuine and fits, yet the probe gets no card: 100, 46 "
                   "(exclusive or prohibited compute mode), or 999 with device nodes missing. Not "
                   "where CUDA_VISIBLE_DEVICES names no card: the probe's verdict says that.",
                   "No CUDA work can be done by this process.",
                   "Load the kernel modules, pass the device nodes, set the compute mode back, or "
                   "free the card."},
    CatalogueEntry{"DR12", "mps-in-use", Owner::node,
                   "info; error where the daemon refuses (805 to 810)",
                   "MPS is in use: its control socket exists or its pipe directory is set in the "
                   "environment; or the probe's first CUDA call answers 805 to 810.",
                   "Processes share one server: a client that faults can take others down.",
                   "None needed by itself; for the codes see the daemon's log."},
    CatalogueEntry{
        "DR13", "device-miscomputes", Owner::node, "critical",
        "A sample kernel gives wrong results, or fails, through the Driver API as well; memory "
        "comes back changed; or the card reports an uncorrectable error (214, 220).",
        "What this card computes cannot be trusted. A kernel that is wrong only through one "
        "runtime is that runtime's fault (SY05).",
        "Take the card out of service and run the vendor's diagnosis."},
    CatalogueEntry{
        "DR14", "no-visible-device", Owner::user, "error",
        "The probe finds no device, and CUDA_VISIBLE_DEVICES is empty, names a card that is not "
        "here before any other, or names one twice.",
        "CUDA finds no device in a process with this environment; the cards may be well.",
        "Set CUDA_VISIBLE_DEVICES to cards that are here, or unset it."},
    CatalogueEntry{
        "DR15", "device-memory-full", Owner::user, "error; info beside a running process",
        "A call of the probe answers 2: the card has no memory left for a context or a few MiB.",
        "A process that starts on this card now fails with \"out of memory\".",
        "End what holds the memory, or give it less."},
    CatalogueEntry{
        "IP01", "ipc-allocation-kind", Owner::user, "warning",
        "PyTorch's allocator is set to expandable segments, or to the asynchronous backend, and "
        "neither does the plain round trip fail nor does the probe export such memory.",
        "Memory of the virtual-memory calls and of stream-ordered pools cannot be exported by a "
        "legacy IPC handle (error 1), though CUDA IPC itself may work: custom all-reduce of vLLM "
        "and SGLang ends with \"invalid argument\" where it exports such memory.",
        "Switch the setting off, or turn custom all-reduce off."},
    CatalogueEntry{
        "IP02", "ipc-pid-namespace", Owner::user,
        "error; info where nothing but the difference speaks for it",
        "The target and its peer are in different PID namespaces and have the same "
        "innermost PID, or the peer answers 201. Other innermost PIDs work.",
        "The driver takes the handle for the importer's own and refuses it with 201: custom "
        "all-reduce cannot be set up. Services hide it and are slow.",
        "Share the PID namespace, or start one of them under another PID."},
    CatalogueEntry{"IP03", "ipc-device-visibility", Owner::user,
                   "error; warning where only the numbering differs",
                   "The peer lacks device nodes of the target's cards, or lists other cards by "
                   "UUID, or answers 100, 101 or 205. CUDA_VISIBLE_DEVICES alone is no fault.",
                   "Memory of a card that the importer does not have cannot be opened: custom "
                   "all-reduce fails when it is set up, with 1, 101, 201 or 205.",
                   "Give both processes the same cards."},
    CatalogueEntry{"IP04", "ipc-platform-unsupported", Owner::node, "error",
                   "WSL2 or Tegra was recognised, or the driver answers 801. Round trips that fail "
                   "there do not count.",
                   "CUDA IPC does not exist on this platform; custom all-reduce cannot be used.",
                   "Turn custom all-reduce off, or share memory by another transport."},
    CatalogueEntry{"IP05", "ipc-fd-passing-blocked", Owner::user,
                   "error if the setting of IP01 is on; else info",
                   "The probe cannot take a descriptor out of the other process: pidfd_open or "
                   "pidfd_getfd fails.",
                   "Memory of PyTorch's expandable segments cannot be shared between processes. "
                   "EBADF is no matter of rights: both sides disagree on the kind of handle.",
                   "Give CAP_SYS_PTRACE, set Yama's ptrace_scope to 0, allow the calls in the "
                   "seccomp profile; or switch the setting off."},
    CatalogueEntry{"IP06", "ipc-peer-unavailable", Owner::node, "error",
                   "Between two cards: 217, 205, wrong data, or a copy that never ends.",
                   "Cards do not reach each other's memory, whatever the driver says of peer "
                   "access: all-reduce over them fails or is wrong.",
                   "Look at topology, IOMMU, ACS and BAR size; or turn custom all-reduce off."},
    CatalogueEntry{
        "IP07", "ipc-handle-scope", Owner::user,
        "error; warning where a process opens its own handle",
        "Exporter and importer are one process, or the peer answers 400 without another "
        "explanation.",
        "A handle is good for another process on the same node, and nowhere else.",
        "Within a process use the pointer itself; between nodes fabric handles or NCCL."},
    CatalogueEntry{"IP08", "ipc-interposer", Owner::user, "warning",
                   "A preloaded object exports CUDA functions, a name of the probed runtime "
                   "resolves in another object, or CUDA_INJECTION64_PATH or LD_AUDIT is set.",
                   "What the program gets is not what the runtime gave: handles and memory may be "
                   "of another kind.",
                   "Repeat without it."},
    CatalogueEntry{
        "IP09", "ipc-roundtrip-failed", Owner::image, "error",
        "A round trip of the probe's own memory between two processes fails in a way that no other "
        "finding explains, or the data is wrong; or the peer refuses a handle without another "
        "reason.",
        "CUDA IPC does not work here. A damaged handle can open without an error, so the data is "
        "always compared.",
        "Follow the step and the side in the evidence; turn custom all-reduce off meanwhile."},
    CatalogueEntry{
        "MP01", "mapping-deleted", Owner::image,
        "warning; critical if a rule in use takes it and cannot open it",
        "The mapped file was deleted, and nothing is at its path now.",
        "The process runs on with the old code. A consumer that opens the path taken from maps "
        "(vLLM, SGLang, FlashInfer) fails, unless the loader knows the library by this very name.",
        "Put the file back (reinstall its package), then restart the process."},
    CatalogueEntry{
        "MP02", "mapping-replaced", Owner::image,
        "error; critical if a rule in use takes it and fails or maps the new file",
        "The mapped file was replaced: another file is at its path now (what package managers do).",
        "A consumer that opens the path (vLLM, SGLang, FlashInfer) may map the new file as a "
        "second runtime beside the old one, silently, or fail, unless the loader knows the "
        "library by this very name.",
        "Restart the process. Cutting the \" (deleted)\" mark and opening the path is no remedy."},
    CatalogueEntry{
        "MP03", "mapping-memfd", Owner::user, "warning",
        "A CUDA runtime was loaded from memory (memfd): there is no path to open.",
        "Consumers that look for the runtime by its path (vLLM, SGLang, FlashInfer) cannot "
        "open it, and say so (RT08).",
        "Load the runtime from a file."},
    CatalogueEntry{
        "MP04", "mapping-foreign-namespace", Owner::node,
        "info; error if a CUDA library there could not be read",
        "The target is in another mount namespace: its paths are not the doctor's paths.",
        "Paths in this report are as the target sees them; a file of the same name on this side "
        "may be another one.",
        "Read through /proc/PID/root, or run the doctor inside the target's container."},
    CatalogueEntry{
        "MP05", "mapping-identity-differs", Owner::image,
        "error; info if only the device number differs",
        "The path leads to another file than the one that is mapped, though the mapping is not "
        "marked as deleted (bind mount, overlay).",
        "What a path-opening consumer gets is not what is loaded.",
        "Find what was mounted over the path; restart the process in the final mount layout."},
    CatalogueEntry{
        "MP06", "name-only-match", Owner::image, "info; critical if the old scan stops at it",
        "A line of maps contains \"libcudart\" only in a directory name, a data mapping or a "
        "pseudo entry.",
        "The old scan takes the first line that contains the word anywhere, and aborts or opens "
        "the wrong file.",
        "Rename the directory, or upgrade the consumer."},
    CatalogueEntry{
        "MP07", "awkward-path", Owner::image, "info",
        "A CUDA library's path holds blanks, a backslash, control characters, or really ends in "
        "\" (deleted)\".",
        "Tools that split maps lines at blanks, or that cut the mark, misread it.",
        "Move the environment to a plain path if such a tool is in use."},
    CatalogueEntry{
        "MP08", "maps-incomplete", Owner::node, "warning; error if empty",
        "The list of mappings was empty, held lines that are no maps lines, or did not hold still "
        "while it was read.",
        "The report may miss a library.", "Run the doctor again when the process is at rest."},
    CatalogueEntry{
        "RT01", "runtime-absent", Owner::image,
        "error if something mapped needs a runtime; else info",
        "No mapped object is a CUDA runtime, and none that was searched has one linked in.",
        "Code that needs the runtime fails at its first call, or loads one by its own rule.",
        "Load CUDA first, or install the runtime that the needing object names."},
    CatalogueEntry{
        "RT02", "runtime-static-only", Owner::image, "warning",
        "The CUDA runtime is present only inside other objects (linked in statically).",
        "Consumers that search the list of mappings will say that libcudart is not loaded.",
        "Load a shared runtime, or set the consumer's own override where it has one. Static copies "
        "by themselves are normal."},
    CatalogueEntry{
        "RT03", "lookalike-mapped", Owner::image, "warning; info where no name rule can select it",
        "An object is mapped that is named like a CUDA runtime, or exports its functions, and is "
        "none.",
        "A consumer that picks its runtime by name may take it and find functions missing.",
        "Upgrade or remove the package that brought it."},
    CatalogueEntry{
        "RT04", "lookalike-selected", Owner::image,
        "critical; error where no program was started and both are only installed; info where no "
        "consumer that does so is here",
        "A consumer's selection rule lands on a look-alike, or would in a program that loads both.",
        "Binding fails at the first missing function: at import, at first use, or silently, with "
        "fused and custom all-reduce switched off for the server's life.",
        "Upgrade the consumer to the release that fixed its rule, or keep the look-alike out of "
        "the process; restart all ranks."},
    CatalogueEntry{
        "RT05", "runtime-duplicate", Owner::image,
        "warning; error if two carry the same public soname, or 400 or 98 was seen",
        "Two or more genuine runtimes of one CUDA major are mapped, or one in two loader "
        "namespaces.",
        "Each has state of its own. With one soname, only the order of loading decides which of "
        "them later users get.",
        "Make all users resolve to one file."},
    CatalogueEntry{
        "RT06", "runtime-mixed-major", Owner::image,
        "warning; critical if cuDNN's front end is in use without its override and would refuse; "
        "info if the second major is only reachable",
        "Runtimes of two CUDA majors are mapped, or one is mapped and a plain load would bring in "
        "another.",
        "Rules that take the first one by address may give a library the wrong major; cuDNN's "
        "front end up to 1.24 refuses to start.",
        "Install one major only, or pin the loader that has to choose."},
    CatalogueEntry{
        "RT07", "selection-order-dependent", Owner::image, "warning",
        "More than one mapping matches a rule that takes the first by address, and another order "
        "of addresses would give another answer.",
        "Address order changes from start to start: a server that works today can fail tomorrow.",
        "As for the finding that the other answer would be; upgrade the consumer."},
    CatalogueEntry{
        "RT08", "runtime-missed", Owner::image, "error",
        "A genuine runtime is mapped, but a consumer's rule finds none, aborts, or cannot open "
        "what it found.",
        "The consumer behaves as if CUDA were not loaded: it ends with an error when it binds, or "
        "goes on without custom all-reduce.",
        "Upgrade the consumer, or use its override where it has one."},
    CatalogueEntry{
        "RT09", "soname-unsatisfied", Owner::image, "error",
        "A runtime that a loaded or named object needs, or that cuDNN's front end opened, is found "
        "nowhere by the loader's rules, though one is here under another name, in another "
        "directory, or of another major.",
        "What asks for it does not load, or goes on without CUDA.",
        "Add the link or the directory, or install the package that has the wanted name."},
    CatalogueEntry{
        "RT10", "toolkit-mixed-origin", Owner::image, "warning",
        "Two of cudart, nvrtc, cublas, nvJitLink and cupti are mapped from different roots (a site "
        "directory's wheels are one) and of different minor versions of one CUDA major. Static and "
        "private copies do not count.",
        "The libraries were not built for each other: missing symbols, or kernels that cannot be "
        "linked. The owner is the user where LD_LIBRARY_PATH brought one of them.",
        "Drop the entry that brought the odd ones, or install one release."},
    CatalogueEntry{
        "RT11", "override-ineffective", Owner::user,
        "warning; error if it names a missing file; info if no consumer is there",
        "An override variable is set, but the rule would not read it, or it leads nowhere.",
        "The runtime that the operator asked for is not the one that is used.",
        "Remove the variable, or correct it; what outranks it is named in the evidence."},
    CatalogueEntry{
        "RT12", "preload-unresolvable", Owner::user, "critical",
        "An object in LD_PRELOAD or /etc/ld.so.preload needs a CUDA library that a new process "
        "would not find, while this one has it through another object's run path.",
        "Preloads are loaded before the program: each child ends with status 127.",
        "Give the object a run path, or put the directory into LD_LIBRARY_PATH."},
    CatalogueEntry{
        "SY01", "runtime-symbol-missing", Owner::image, "error",
        "An object needs a symbol at a version node of the runtime, and the runtime that would "
        "serve it does not have the symbol; or a genuine runtime, loaded by the probe, lacks a "
        "name that consumers bind.",
        "The object was built for a newer CUDA runtime of the same major: it cannot be loaded, or "
        "its first call fails.",
        "Load the newer runtime first, or build the object for the runtime in use."},
    CatalogueEntry{
        "SY02", "driver-symbol-missing", Owner::image, "error",
        "An object that needs libcuda uses a driver function that the driver in use does not have. "
        "A link-time stub is not asked.",
        "The object was built for a newer driver: it cannot be loaded, or its first call fails.",
        "Take an older build, or install a newer driver."},
    CatalogueEntry{
        "SY03", "nvrtc-builtins-mismatch", Owner::image, "error",
        "The mapped NVRTC would open builtins of another release, or finds none under their name "
        "though others are there.",
        "Run-time compilation of kernels fails, or uses the built-in functions of another release.",
        "Install NVRTC and its builtins of one release; where only the name is wrong, add a link."},
    CatalogueEntry{
        "SY04", "version-need-unmatched", Owner::image, "error",
        "An object's version needs name a CUDA library that is not among its needed libraries.",
        "The loader refuses it, unless that library happens to be loaded before.",
        "Rebuild the package: a tool renamed its needed libraries and left the versions behind."},
    CatalogueEntry{"SY05", "runtime-does-not-work", Owner::image, "error",
                   "A genuine runtime cannot be loaded or used by the probe: its file is cut, it "
                   "crashes or hangs, or a stage fails that no other finding explains.",
                   "The process may have a working image of it in memory; another start would not.",
                   "Reinstall the package, or use another release of the runtime."},
    CatalogueEntry{
        "SY06", "profile-not-met", Owner::image, "error",
        "A list of names given with --profile: the runtime that its rule takes lacks one of them, "
        "or the rule takes none.",
        "What needs these names fails here: at its first look-up, or when it is loaded.",
        "Let the process load a runtime that has the names, or correct the list."},
};

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kCatalogue; }

const CatalogueEntry* find_entry(std::string_view id) {
  const auto* const found =
      std::find_if(kCatalogue.begin(), kCatalogue.end(),
                   [id](const CatalogueEntry& entry) { return entry.id == id; });
  return found == kCatalogue.end() ? nullptr : found;
}

}  // namespace cudart_doctor
