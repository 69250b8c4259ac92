// The descriptor from the socket, or fetched from the exporter with pidfd_getfd.
#include "import_vmm.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "mechanisms.hpp"
#include "vmm_memory.hpp"

namespace cudart_doctor {
namespace {

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

struct Fetched {
  UniqueFd descriptor;
  int error = 0;
  std::string_view call;
};

/// PyTorch's way. The exporter is not asked to allow it, since PyTorch's does not either.
Fetched fetch(int process, int descriptor) {
  const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!handle.valid()) return {.descriptor = {}, .error = errno, .call = "pidfd_open"};
  UniqueFd out(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), descriptor, 0)));
  if (!out.valid()) return {.descriptor = {}, .error = errno, .call = "pidfd_getfd"};
  return {.descriptor = std::move(out), .error = 0, .call = {}};
}

StageAnswer look_and_write(const DriverApi& api, DevicePointer address) {
  std::vector<std::uint8_t> seen(kVmmLooked);
  const CudaStatus read = {api.memcpy_dtoh(seen.data(), address, seen.size()), "cuMemcpyDtoH"};
  if (!read.ok()) return failed(read);
  const bool right =
      std::ranges::all_of(seen, [](std::uint8_t byte) { return byte == kExporterByte; });
  if (!right) return wrong("what the exporter wrote is not there");
  const CudaStatus written = {api.memset_d8(address, kImporterByte, kVmmLooked), "cuMemsetD8"};
  if (!written.ok()) return failed(written);
  const CudaStatus done = {api.ctx_synchronize(), "cuCtxSynchronize"};
  return done.ok() ? passed() : failed(done);
}

StageAnswer import(ChildWorld& world, const PeerMessage& message, int descriptor) {
  const DriverApi* api = world.driver.use();
  if (api == nullptr) return skipped("driver cannot be used: " + world.driver.error());
  if (!api->has_virtual_memory()) return skipped("driver has no virtual memory management");
  VmmMemory memory(*api);
  const CudaStatus imported = memory.import(message.device, descriptor, message.bytes);
  if (!imported.ok()) return failed(imported);
  StageAnswer answer = look_and_write(*api, memory.address());
  const CudaStatus released = memory.release();
  return answer.ok() && !released.ok() ? failed(released) : answer;
}

}  // namespace

PeerMessage import_vmm(ChildWorld& world, const PeerReceived& received) {
  const PeerMessage& message = received.message;
  PeerMessage answer = make_message(PeerKind::answer, message.runtime, {.device = message.device});
  if (message.kind == PeerKind::vmm_socket) {
    put_answer(answer, received.descriptor.valid()
                           ? import(world, message, received.descriptor.get())
                           : wrong("no descriptor came with the message"));
    return answer;
  }
  const Fetched fetched = fetch(message.process, message.descriptor);
  if (fetched.error == 0) {
    put_answer(answer, import(world, message, fetched.descriptor.get()));
    return answer;
  }
  StageAnswer refused = wrong({});
  refused.call = fetched.call;
  put_answer(answer, refused);
  answer.error = fetched.error;
  return answer;
}

}  // namespace cudart_doctor
