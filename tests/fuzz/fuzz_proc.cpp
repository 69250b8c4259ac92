// Any bytes as the small files of /proc.
#include <cstdint>
#include <span>
#include <string_view>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string text(data, data + size);
  (void)parse_status(text);
  (void)parse_stat(text);
  (void)parse_environ(text);
  (void)parse_cmdline(text);
  (void)parse_auxv(bytes);
  (void)parse_listeners(text, 8000);
  (void)parse_driver_version(text);
  (void)parse_cgroup(text);
  (void)parse_ptrace_scope(text);
  (void)find_tegra(text);
  (void)is_wsl_kernel(text);
  (void)escape_foreign(text);
  return 0;
}
