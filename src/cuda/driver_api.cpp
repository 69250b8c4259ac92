// Opens libcuda once a candidate has had its choice, and says which one that was.
#include "cudart_doctor/cuda/driver_api.hpp"

#include <dlfcn.h>

#include <array>
#include <fstream>
#include <optional>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/cuda/library.hpp"
#include "symbol_binder.hpp"

namespace cudart_doctor {
namespace {

constexpr const char* kDriverName = "libcuda.so.1";

void bind_basic(SymbolBinder& binder, DriverApi& api) {
  binder.need("cuInit", api.init);
  binder.need("cuDriverGetVersion", api.driver_get_version);
  binder.need("cuDeviceGet", api.device_get);
  binder.need("cuDeviceGetName", api.device_get_name);
  binder.need("cuDeviceGetAttribute", api.device_get_attribute);
  binder.need("cuDeviceTotalMem_v2", api.device_total_mem);
  binder.need("cuCtxSynchronize", api.ctx_synchronize);
  binder.need("cuModuleLoadData", api.module_load_data);
  binder.need("cuModuleLoadDataEx", api.module_load_data_ex);
  binder.need("cuModuleGetFunction", api.module_get_function);
  binder.need("cuModuleUnload", api.module_unload);
  binder.need("cuLaunchKernel", api.launch_kernel);
  binder.need("cuMemAlloc_v2", api.mem_alloc);
  binder.need("cuMemFree_v2", api.mem_free);
  binder.need("cuMemsetD8_v2", api.memset_d8);
  binder.need("cuMemcpyHtoD_v2", api.memcpy_htod);
  binder.need("cuMemcpyDtoH_v2", api.memcpy_dtoh);
  binder.need("cuMemHostAlloc", api.mem_host_alloc);
  binder.need("cuMemFreeHost", api.mem_free_host);
  binder.need("cuIpcGetMemHandle", api.ipc_get_mem_handle);
}

void bind_newer(SymbolBinder& binder, DriverApi& api) {
  binder.want("cuDeviceGetUuid", api.device_get_uuid);
  binder.want("cuMemGetAllocationGranularity", api.mem_get_allocation_granularity);
  binder.want("cuMemCreate", api.mem_create);
  binder.want("cuMemRelease", api.mem_release);
  binder.want("cuMemAddressReserve", api.mem_address_reserve);
  binder.want("cuMemAddressFree", api.mem_address_free);
  binder.want("cuMemMap", api.mem_map);
  binder.want("cuMemUnmap", api.mem_unmap);
  binder.want("cuMemSetAccess", api.mem_set_access);
  binder.want("cuMemExportToShareableHandle", api.mem_export_to_shareable_handle);
  binder.want("cuMemImportFromShareableHandle", api.mem_import_from_shareable_handle);
  binder.want("cuMemAllocAsync", api.mem_alloc_async);
  binder.want("cuMemFreeAsync", api.mem_free_async);
}

/// "08:01" of maps; both numbers are hexadecimal.
std::optional<FileKey> parse_key(std::string_view device, std::string_view inode) {
  const auto parts = split(device, ':');
  if (parts.size() != 2) return std::nullopt;
  const auto major = parse_unsigned(parts[0], 16);
  const auto minor = parse_unsigned(parts[1], 16);
  const auto number = parse_unsigned(inode, 10);
  if (!major || !minor || !number) return std::nullopt;
  return FileKey{static_cast<std::uint32_t>(*major), static_cast<std::uint32_t>(*minor), *number};
}

/// The file mapped at `address`, by this process's own maps: the name may lead elsewhere by now.
FileKey mapped_file(std::uint64_t address) {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  while (std::getline(maps, line)) {
    // range perms offset device inode path
    const auto fields = split(line, ' ');
    if (fields.size() < 5) continue;
    const auto ends = split(fields[0], '-');
    if (ends.size() != 2) continue;
    const auto lo = parse_unsigned(ends[0], 16);
    const auto hi = parse_unsigned(ends[1], 16);
    if (!lo || !hi || address < *lo || address >= *hi) continue;
    return parse_key(fields[3], fields[4]).value_or(FileKey{});
  }
  return {};
}

std::string render_uuid(const cuda_abi::Uuid& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    const unsigned byte = uuid.bytes[i];
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

bool DriverApi::has_virtual_memory() const {
  return mem_get_allocation_granularity != nullptr && mem_create != nullptr &&
         mem_release != nullptr && mem_address_reserve != nullptr && mem_address_free != nullptr &&
         mem_map != nullptr && mem_unmap != nullptr && mem_set_access != nullptr &&
         mem_export_to_shareable_handle != nullptr && mem_import_from_shareable_handle != nullptr;
}

Result<DriverApi> open_driver() {
  auto library = Library::open_loaded(kDriverName);
  if (!library) library = Library::open(kDriverName);
  if (!library) return tl::unexpected(library.error());
  SymbolBinder binder(*library);
  DriverApi api;
  bind_basic(binder, api);
  bind_newer(binder, api);
  const auto missing = std::move(binder).missing();
  if (!missing.empty()) {
    return fail(ErrorKind::malformed, "libcuda.so.1 lacks " + join(missing, ", "));
  }
  return api;
}

ProbeDriver describe_driver(const DriverApi& api) {
  ProbeDriver driver;
  auto* const address = reinterpret_cast<void*>(api.init);
  Dl_info info = {};
  if (::dladdr(address, &info) != 0 && info.dli_fname != nullptr) driver.path = info.dli_fname;
  driver.key = mapped_file(reinterpret_cast<std::uintptr_t>(address));
  api.driver_get_version(&driver.version);
  return driver;
}

ProbeDevice describe_device(const DriverApi& api, int ordinal) {
  ProbeDevice device;
  device.ordinal = ordinal;
  int handle = 0;
  if (api.device_get(&handle, ordinal) != 0) return device;
  std::array<char, 256> name = {};
  // One byte less: the last stays the final NUL.
  if (api.device_get_name(name.data(), static_cast<int>(name.size()) - 1, handle) == 0) {
    device.name = name.data();
  }
  cuda_abi::Uuid uuid = {};
  if (api.device_get_uuid != nullptr && api.device_get_uuid(&uuid, handle) == 0) {
    device.uuid = render_uuid(uuid);
  }
  api.device_get_attribute(&device.capability_major, cuda_abi::kAttributeCapabilityMajor, handle);
  api.device_get_attribute(&device.capability_minor, cuda_abi::kAttributeCapabilityMinor, handle);
  std::size_t bytes = 0;
  if (api.device_total_mem(&bytes, handle) == 0) device.memory_bytes = bytes;
  return device;
}

}  // namespace cudart_doctor
