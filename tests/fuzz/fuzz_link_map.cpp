// Any bytes as the memory of a process whose loader list is read: it ends, within its caps.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "cudart_doctor/collect/link_map.hpp"

namespace {

constexpr std::uint64_t kBase = 0x400000;

/// The input at kBase, and nothing elsewhere.
class Memory final : public cudart_doctor::ByteSource {
 public:
  explicit Memory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  cudart_doctor::Result<std::size_t> read_at(std::uint64_t offset,
                                             std::span<std::byte> out) override {
    if (offset < kBase || offset - kBase >= bytes_.size()) return std::size_t{0};
    const auto rest = bytes_.subspan(static_cast<std::size_t>(offset - kBase));
    const std::size_t count = std::min(out.size(), rest.size());
    std::memcpy(out.data(), rest.data(), count);
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  Memory memory(std::as_bytes(std::span(data, size)));
  const auto look = read_link_map(
      memory,
      {{AT_PHDR, kBase + sizeof(Elf64_Ehdr)}, {AT_PHNUM, 2}, {AT_PHENT, sizeof(Elf64_Phdr)}});
  if (!look) return 0;
  if (look->namespaces.size() > 64) std::abort();
  for (const LinkedNamespace& each : look->namespaces) {
    if (each.modules.size() > 4096) std::abort();
  }
  (void)match_objects(*look, AddressIndex({}, {}));
  return 0;
}
