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
      ".globl " symbol "End\n.hidden " symbol "End\n" symbol          \
      "End:\n"                                                        \
      ".byte 0\n"                                                     \
      ".popsection\n")

DOCTOR_EMBED("kCudartDoctorFatBinary", DOCTOR_KERNELS "/mhc.fatbin");
DOCTOR_EMBED("kCudartDoctorPtxFatBinary", DOCTOR_KERNELS "/mhc_ptx.fatbin");
DOCTOR_EMBED("kCudartDoctorPtx", DOCTOR_KERNELS "/mhc.ptx");

extern "C" {
extern const std::byte kCudartDoctorFatBinary[];
extern const std::byte kCudartDoctorFatBinaryEnd[];
extern const std::byte kCudartDoctorPtxFatBinary[];
extern const std::byte kCudartDoctorPtxFatBinaryEnd[];
extern const char kCudartDoctorPtx[];
extern const char kCudartDoctorPtxEnd[];
}

namespace cudart_doctor {

std::span<const char* const> mhc_kernel_names() {
  static constexpr const char* kNames[] = {"mhc_split_sinkhorn", "mhc_pre", "mhc_post",
                                           "mhc_fused_post_pre"};
  return kNames;
}

std::span<const std::byte> mhc_fat_binary() {
  return {kCudartDoctorFatBinary, kCudartDoctorFatBinaryEnd};
}

std::span<const std::byte> mhc_ptx_fat_binary() {
  return {kCudartDoctorPtxFatBinary, kCudartDoctorPtxFatBinaryEnd};
}

std::string_view mhc_ptx() { return {kCudartDoctorPtx, kCudartDoctorPtxEnd}; }

}  // namespace cudart_doctor
