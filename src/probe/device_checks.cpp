// Checks of one device: each frees what it allocates, each looks at the data.
#include "device_checks.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/cuda/driver_launcher.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kCopyBytes = 1u << 20;

/// Device memory that is given back at the end of a check, whatever it came to.
class Allocation {
 public:
  Allocation(DeviceMemory& memory, std::size_t bytes) : memory_(memory) {
    status_ = memory_.allocate(bytes, address_);
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() { (void)release(); }

  CudaStatus release() {
    if (!status_.ok() || address_ == 0) return {};
    return memory_.release(std::exchange(address_, 0));
  }
  [[nodiscard]] const CudaStatus& status() const { return status_; }
  [[nodiscard]] DevicePointer address() const { return address_; }

 private:
  DeviceMemory& memory_;
  DevicePointer address_ = 0;
  CudaStatus status_;
};

std::string hex_byte(std::byte value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto number = std::to_integer<unsigned>(value);
  return std::string("0x") + kDigits[number >> 4] + kDigits[number & 15U];
}

/// "byte 17 is 0x00, not 0xa5"; "" where all are as they should be.
std::string difference(const std::vector<std::byte>& got, const std::vector<std::byte>& expected) {
  const auto [at, wanted] = std::mismatch(got.begin(), got.end(), expected.begin());
  if (at == got.end()) return {};
  return "byte " + std::to_string(at - got.begin()) + " is " + hex_byte(*at) + ", not " +
         hex_byte(*wanted);
}

std::vector<std::byte> counting_bytes() {
  std::vector<std::byte> out(kCopyBytes);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * 131 + (i >> 8));
  return out;
}

StageAnswer check_bytes(DeviceMemory& memory, DevicePointer address,
                        const std::vector<std::byte>& expected) {
  std::vector<std::byte> got(expected.size());
  if (const auto status = memory.download(got, address); !status.ok()) return failed(status);
  const std::string text = difference(got, expected);
  return text.empty() ? passed() : wrong(text);
}

/// mhc_post of the sample through any launcher.
StageAnswer check_sample(const PostSample& sample, KernelLauncher& launcher, DeviceMemory& memory) {
  const Allocation buffer(memory, SampleLayout::kBytes);
  if (!buffer.status().ok()) return failed(buffer.status());
  MhcOps ops(launcher);
  SampleVerdict verdict;
  const DevicePointer base = buffer.address();
  CudaStatus status = sample.prepare(memory, base, 0);
  if (status.ok()) status = ops.mhc_post(PostSample::arguments(base));
  if (status.ok()) status = memory.synchronize();
  if (status.ok()) status = sample.fetch(memory, base, verdict);
  if (!status.ok()) return failed(status);
  return verdict.right ? passed(verdict.text) : wrong(verdict.text);
}

}  // namespace

StageAnswer check_memory(DeviceMemory& memory) {
  Allocation buffer(memory, kCopyBytes);
  if (!buffer.status().ok()) return failed(buffer.status());
  constexpr std::uint8_t kFill = 0xa5;
  if (const auto status = memory.fill(buffer.address(), kFill, kCopyBytes); !status.ok()) {
    return failed(status);
  }
  const std::vector<std::byte> filled(kCopyBytes, std::byte{kFill});
  if (auto answer = check_bytes(memory, buffer.address(), filled); !answer.ok()) return answer;
  const auto counting = counting_bytes();
  if (const auto status = memory.upload(buffer.address(), counting); !status.ok()) {
    return failed(status);
  }
  if (auto answer = check_bytes(memory, buffer.address(), counting); !answer.ok()) return answer;
  const CudaStatus freed = buffer.release();
  return freed.ok() ? passed() : failed(freed);
}

StageAnswer check_kernels(CandidateSession& session, int device) {
  const auto results = run_mhc_check(session.ops(device), session.memory());
  for (const MhcOpResult& result : results) {
    if (result.pass || !result.available) continue;
    std::string detail = result.op + ": " + result.note;
    if (!result.place.empty()) detail += " (" + result.place + ")";
    return result.status.ok() ? wrong(std::move(detail)) : failed(result.status, detail);
  }
  if (results.empty()) return wrong("no operator was run");
  return passed(count_of(results.size(), "operator") + " right, " +
                std::string(session.launcher().image()));
}

StageAnswer check_control(ChildWorld& world) {
  const DriverApi* api = world.driver.use();
  if (api == nullptr) return skipped(world.driver.error());
  DriverLauncher launcher(*api, DriverImage::fat_binary);
  DriverMemory memory(*api);
  return check_sample(world.sample, launcher, memory);
}

StageAnswer check_ptx(ChildWorld& world) {
  const DriverApi* api = world.driver.use();
  if (api == nullptr) return skipped(world.driver.error());
  DriverLauncher launcher(*api, DriverImage::ptx_text);
  DriverMemory memory(*api);
  StageAnswer answer = check_sample(world.sample, launcher, memory);
  if (!answer.ok() && !launcher.jit_log().empty()) answer.detail = launcher.jit_log();
  return answer;
}

StageAnswer check_peer_copy(CandidateSession& session, Place place) {
  const RuntimeApi& api = session.api();
  int can = 0;
  const CudaStatus asked = {api.device_can_access_peer(&can, place.peer_device, place.device),
                            "cudaDeviceCanAccessPeer"};
  if (!asked.ok()) return failed(asked);
  const std::string claim = can != 0 ? "can access peer: yes" : "can access peer: no";
  const auto use = [&](int device) { return CudaStatus{api.set_device(device), "cudaSetDevice"}; };
  if (const auto status = use(place.device); !status.ok()) return failed(status, claim);
  const Allocation from(session.memory(), kCopyBytes);
  if (!from.status().ok()) return failed(from.status(), claim);
  const auto counting = counting_bytes();
  if (const auto status = session.memory().upload(from.address(), counting); !status.ok()) {
    return failed(status, claim);
  }
  if (const auto status = use(place.peer_device); !status.ok()) return failed(status, claim);
  const Allocation to(session.memory(), kCopyBytes);
  if (!to.status().ok()) return failed(to.status(), claim);
  const CudaStatus copied = {api.memcpy_peer(to_pointer(to.address()), place.peer_device,
                                             to_pointer(from.address()), place.device, kCopyBytes),
                             "cudaMemcpyPeer"};
  if (!copied.ok()) return failed(copied, claim);
  StageAnswer answer = check_bytes(session.memory(), to.address(), counting);
  answer.detail = claim + (answer.detail.empty() ? "" : "; " + answer.detail);
  return answer;
}

}  // namespace cudart_doctor
