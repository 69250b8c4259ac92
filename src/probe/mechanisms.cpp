// Virtual memory by descriptor, fabric, multicast, and the memory kinds that legacy handles refuse.
#include "mechanisms.hpp"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "vmm_memory.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kSmall = 64u << 10;

MechanismResult result_of(const StageAnswer& answer) {
  MechanismResult result;
  result.outcome = answer.outcome;
  result.code = answer.code;
  result.call = answer.call;
  result.detail = answer.detail;
  return result;
}

class Mechanisms {
 public:
  Mechanisms(ChildWorld& world, CandidateSession& session, const StageFrames& frames, int device)
      : world_(world), session_(session), frames_(frames), device_(device) {}

  void tell(Mechanism mechanism, MechanismResult result) const {
    Frame frame;
    frame.kind = FrameKind::mechanism;
    frame.mechanism = std::move(result);
    frame.mechanism.mechanism = mechanism;
    frame.mechanism.device = device_;
    frames_.send(std::move(frame));
  }

  void check(const DriverApi& api) {
    if (api.has_virtual_memory()) {
      check_virtual_memory(api);
      tell(Mechanism::fabric, fabric(api));
    } else {
      for (const Mechanism one : {Mechanism::vmm_socket, Mechanism::vmm_pidfd, Mechanism::fabric,
                                  Mechanism::legacy_on_vmm}) {
        tell(one, result_of(skipped("this driver has no virtual memory management")));
      }
    }
    tell(Mechanism::multicast, multicast(api));
    tell(Mechanism::legacy_on_pool, legacy_on_pool(api));
    tell(Mechanism::legacy_on_pinned, legacy_on_pinned(api));
    // A refusal stays the runtime's last error otherwise.
    (void)session_.api().get_last_error();
  }

 private:
  void check_virtual_memory(const DriverApi& api) {
    VmmMemory memory(api);
    const CudaStatus created = memory.create(device_);
    UniqueFd descriptor;
    const CudaStatus exported = created.ok() ? memory.export_descriptor(descriptor) : created;
    if (!exported.ok()) {
      tell(Mechanism::vmm_socket, result_of(failed(exported)));
      tell(Mechanism::vmm_pidfd, result_of(failed(exported)));
    } else {
      tell(Mechanism::vmm_socket, share(api, memory, {PeerKind::vmm_socket, descriptor.get()}));
      tell(Mechanism::vmm_pidfd, share(api, memory, {PeerKind::vmm_pidfd, descriptor.get()}));
    }
    tell(Mechanism::legacy_on_vmm,
         created.ok() ? legacy_export(memory.address()) : result_of(failed(created)));
  }

  MechanismResult share(const DriverApi& api, const VmmMemory& memory,
                        std::pair<PeerKind, int> how) {
    if (!world_.peer.connected()) return result_of(skipped("there is no importer"));
    const CudaStatus filled = {api.memset_d8(memory.address(), kExporterByte, kVmmLooked),
                               "cuMemsetD8"};
    if (!filled.ok()) return result_of(failed(filled));
    const CudaStatus synchronized = {api.ctx_synchronize(), "cuCtxSynchronize"};
    if (!synchronized.ok()) return result_of(failed(synchronized));
    PeerMessage message = make_message(how.first, frames_.runtime(), {.device = device_});
    message.bytes = memory.bytes();
    message.process = ::getpid();
    message.descriptor = how.second;
    const bool by_socket = how.first == PeerKind::vmm_socket;
    const auto answer = world_.peer.ask(message, by_socket ? how.second : -1);
    if (!answer) return result_of(skipped(std::string(kImporterGone)));
    const StageAnswer theirs = take_answer(*answer);
    if (!theirs.ok()) {
      MechanismResult result = result_of(theirs);
      if (answer->error != 0) result.error = answer->error;
      return result;
    }
    std::vector<std::uint8_t> seen(kVmmLooked);
    const CudaStatus read = {api.memcpy_dtoh(seen.data(), memory.address(), seen.size()),
                             "cuMemcpyDtoH"};
    if (!read.ok()) return result_of(failed(read));
    const bool right =
        std::ranges::all_of(seen, [](std::uint8_t byte) { return byte == kImporterByte; });
    return result_of(right ? passed() : wrong("what the importer wrote is not there"));
  }

  MechanismResult legacy_export(DevicePointer address) const {
    cuda_abi::IpcHandle handle = {};
    const CudaStatus status = {session_.api().ipc_get_mem_handle(&handle, to_pointer(address)),
                               "cudaIpcGetMemHandle"};
    if (status.ok()) return result_of(passed("a handle was given"));
    return result_of(
        failed(status, status.code == 1 ? "refused by the driver, as expected" : std::string()));
  }

  [[nodiscard]] std::optional<int> attribute(const DriverApi& api, int number) const {
    int handle = 0;
    int value = 0;
    if (api.device_get(&handle, device_) != 0) return std::nullopt;
    if (api.device_get_attribute(&value, number, handle) != 0) return std::nullopt;
    return value;
  }

  [[nodiscard]] MechanismResult fabric(const DriverApi& api) const {
    const auto claim = attribute(api, cuda_abi::kAttributeFabric);
    if (!claim) return result_of(skipped("this driver does not know fabric handles"));
    if (*claim == 0) return result_of(wrong("the device says no"));
    const auto prop = exportable(device_, cuda_abi::kMemHandleFabric);
    std::size_t bytes = 0;
    const CudaStatus sized = {
        api.mem_get_allocation_granularity(&bytes, &prop, cuda_abi::kGranularityMinimum),
        "cuMemGetAllocationGranularity"};
    if (!sized.ok()) return result_of(failed(sized, "the device says yes"));
    std::uint64_t handle = 0;
    const CudaStatus created = {api.mem_create(&handle, bytes, &prop, 0), "cuMemCreate"};
    if (!created.ok()) return result_of(failed(created, "the device says yes"));
    (void)api.mem_release(handle);
    return result_of(passed("memory with a fabric handle was made"));
  }

  /// Never a multicast object: making one touches the fabric of all devices.
  [[nodiscard]] MechanismResult multicast(const DriverApi& api) const {
    const auto claim = attribute(api, cuda_abi::kAttributeMulticast);
    if (!claim) return result_of(skipped("this driver does not know multicast"));
    return result_of(*claim != 0 ? passed("the device says yes; not tried")
                                 : wrong("the device says no"));
  }

  [[nodiscard]] MechanismResult legacy_on_pool(const DriverApi& api) const {
    const RuntimeApi& runtime = session_.api();
    if (runtime.malloc_async != nullptr && runtime.free_async != nullptr) {
      void* pointer = nullptr;
      const CudaStatus made = {runtime.malloc_async(&pointer, kSmall, nullptr), "cudaMallocAsync"};
      if (!made.ok()) return result_of(skipped(describe(failed(made))));
      MechanismResult result = legacy_export(to_address(pointer));
      (void)runtime.free_async(pointer, nullptr);
      (void)runtime.device_synchronize();
      return result;
    }
    if (api.mem_alloc_async == nullptr || api.mem_free_async == nullptr) {
      return result_of(skipped("not in this runtime"));
    }
    DevicePointer pointer = 0;
    const CudaStatus made = {api.mem_alloc_async(&pointer, kSmall, nullptr), "cuMemAllocAsync"};
    if (!made.ok()) return result_of(skipped(describe(failed(made))));
    MechanismResult result = legacy_export(pointer);
    (void)api.mem_free_async(pointer, nullptr);
    (void)api.ctx_synchronize();
    return result;
  }

  [[nodiscard]] MechanismResult legacy_on_pinned(const DriverApi& api) const {
    void* pointer = nullptr;
    const CudaStatus made = {api.mem_host_alloc(&pointer, kSmall, 0), "cuMemHostAlloc"};
    if (!made.ok()) return result_of(skipped(describe(failed(made))));
    MechanismResult result = legacy_export(to_address(pointer));
    (void)api.mem_free_host(pointer);
    return result;
  }

  ChildWorld& world_;
  CandidateSession& session_;
  const StageFrames& frames_;
  int device_;
};

}  // namespace

void check_mechanisms(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
                      std::pair<int, const RoundResult*> legacy) {
  Mechanisms mechanisms(world, session, frames, legacy.first);
  mechanisms.tell(Mechanism::legacy_memory, result_of(legacy.second->memory));
  mechanisms.tell(Mechanism::event, result_of(legacy.second->event));
  if (const DriverApi* api = world.driver.use()) {
    mechanisms.check(*api);
    return;
  }
  for (const Mechanism one :
       {Mechanism::vmm_socket, Mechanism::vmm_pidfd, Mechanism::fabric, Mechanism::multicast,
        Mechanism::legacy_on_vmm, Mechanism::legacy_on_pool, Mechanism::legacy_on_pinned}) {
    mechanisms.tell(one, result_of(skipped(world.driver.error())));
  }
}

}  // namespace cudart_doctor
