// The kernel images, as scripts/generate-kernels made them, inside the program: the assembler
// copies the files, so that no compiler has to parse them.
#include "cudart_doctor/cuda/mhc_ops.hpp"

// NUL behind each: the PTX is a C string to the driver. 16: the runtime reads 64-bit fields.
#define DOCTOR_EMBED(symbol, file)                                    \
  asm(".pushsection .rodata.cudart_doctor_images, \"a\", @progbits\n" \
      ".balign 16\n"                                                  \
      ".globl " symbol "\n.hidden " symbol "\n" symbol                \
      ":\n"                                                           \
      ".incbin \"" file                                               \
      "\"\n"                                                          \
      ".globl " symbol "_end\n.hidden " symbol "_end\n" symbol        \
      "_end:\n"                                                       \
      ".byte 0\n"                                                     \
      ".popsection\n")

DOCTOR_EMBED("cudart_doctor_fat_binary", DOCTOR_KERNELS "/mhc.fatbin");
DOCTOR_EMBED("cudart_doctor_ptx_fat_binary", DOCTOR_KERNELS "/mhc_ptx.fatbin");
DOCTOR_EMBED("cudart_doctor_ptx", DOCTOR_KERNELS "/mhc.ptx");

extern "C" {
extern const std::byte cudart_doctor_fat_binary[];
extern const std::byte cudart_doctor_fat_binary_end[];
extern const std::byte cudart_doctor_ptx_fat_binary[];
extern const std::byte cudart_doctor_ptx_fat_binary_end[];
extern const char cudart_doctor_ptx[];
extern const char cudart_doctor_ptx_end[];
}

namespace cudart_doctor {

std::span<const char* const> mhc_kernel_names() {
  static constexpr const char* kNames[] = {"mhc_split_sinkhorn", "mhc_pre", "mhc_post",
                                           "mhc_fused_post_pre"};
  return kNames;
}

std::span<const std::byte> mhc_fat_binary() {
  return {cudart_doctor_fat_binary, cudart_doctor_fat_binary_end};
}

std::span<const std::byte> mhc_ptx_fat_binary() {
  return {cudart_doctor_ptx_fat_binary, cudart_doctor_ptx_fat_binary_end};
}

std::string_view mhc_ptx() { return {cudart_doctor_ptx, cudart_doctor_ptx_end}; }

}  // namespace cudart_doctor
