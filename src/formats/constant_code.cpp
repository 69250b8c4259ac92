// A handful of instruction shapes is enough: compilers write such a function in few ways, and code
// that is not recognised counts as real.
#include "constant_code.hpp"

#include "elf_format.hpp"

namespace cudart_doctor::elf {
namespace {

/// Eats instructions from the front of x86-64 code.
class CodeCursor {
 public:
  explicit CodeCursor(std::span<const std::byte> code) : code_(code) {}

  bool take(std::initializer_list<unsigned> bytes) {
    if (code_.size() < bytes.size()) return false;
    std::size_t at = 0;
    for (const unsigned byte : bytes) {
      if (code_[at++] != std::byte{static_cast<unsigned char>(byte)}) return false;
    }
    code_ = code_.subspan(at);
    return true;
  }

  bool skip(std::size_t size) {
    if (code_.size() < size) return false;
    code_ = code_.subspan(size);
    return true;
  }

 private:
  std::span<const std::byte> code_;
};

/// A store of an argument register to the frame, as unoptimised code begins with:
/// mov [rbp+disp8], reg32 (89 /r), the same with REX (r8, r9 and 64-bit), or disp32.
bool take_argument_store(CodeCursor& cursor) {
  for (const unsigned reg : {7U, 6U, 2U, 1U, 0U}) {  // edi, esi, edx, ecx; r8, r9 with REX.R
    for (const unsigned rex : {0U, 0x44U, 0x48U, 0x4CU}) {
      const unsigned short_form = 0x45U | (reg << 3U);
      const unsigned long_form = 0x85U | (reg << 3U);
      if (rex == 0) {
        if (cursor.take({0x89, short_form})) return cursor.skip(1);
        if (cursor.take({0x89, long_form})) return cursor.skip(4);
      } else {
        if (cursor.take({rex, 0x89, short_form})) return cursor.skip(1);
        if (cursor.take({rex, 0x89, long_form})) return cursor.skip(4);
      }
    }
  }
  return false;
}

bool returns_constant_x86(std::span<const std::byte> code) {
  constexpr int kMostStores = 6;
  CodeCursor cursor(code);
  cursor.take({0xF3, 0x0F, 0x1E, 0xFA});                        // endbr64
  const bool frame = cursor.take({0x55});                       // push rbp
  if (frame && !cursor.take({0x48, 0x89, 0xE5})) return false;  // mov rbp, rsp
  if (frame) {
    const bool room = cursor.take({0x48, 0x83, 0xEC});  // sub rsp, imm8
    if (room && !cursor.skip(1)) return false;
    for (int i = 0; i < kMostStores && take_argument_store(cursor); ++i) {
    }
  }
  if (cursor.take({0xB8})) {  // mov eax, imm32
    if (!cursor.skip(4)) return false;
  } else if (cursor.take({0x6A})) {  // push imm8; pop rax
    if (!cursor.skip(1) || !cursor.take({0x58})) return false;
  } else if (!cursor.take({0x31, 0xC0}) && !cursor.take({0x33, 0xC0})) {  // xor eax, eax
    return false;
  }
  if (frame && !cursor.take({0x5D}) && !cursor.take({0xC9})) return false;  // pop rbp, leave
  cursor.take({0xF3});                                                      // rep, as in "rep ret"
  return cursor.take({0xC3});
}

bool returns_constant_aarch64(std::span<const std::byte> code) {
  constexpr std::uint32_t kBtiC = 0xd503245f;
  constexpr std::uint32_t kRet = 0xd65f03c0;
  constexpr std::uint32_t kMoveMask = 0xffe0001f;
  constexpr std::uint32_t kMoveToW0 = 0x52800000;  // movz w0, #imm
  constexpr std::uint32_t kStoreMask = 0xbfc003e0;
  constexpr std::uint32_t kStoreToStack = 0xb90003e0;  // str w, [sp, #imm], 32 and 64 bits
  constexpr std::uint32_t kStackMask = 0xffc003ff;
  constexpr std::uint32_t kStackDown = 0xd10003ff;  // sub sp, sp, #imm
  constexpr std::uint32_t kStackUp = 0x910003ff;    // add sp, sp, #imm
  constexpr int kMostInstructions = 12;
  bool constant = false;
  for (int i = 0; i < kMostInstructions && code.size() >= 4; ++i, code = code.subspan(4)) {
    const auto word = load<std::uint32_t>(code, 0);
    if (word == kRet) return constant;
    if ((word & kMoveMask) == kMoveToW0) {
      constant = true;
    } else if (word != kBtiC && (word & kStackMask) != kStackDown &&
               (word & kStackMask) != kStackUp && (word & kStoreMask) != kStoreToStack) {
      return false;
    }
  }
  return false;
}

}  // namespace

bool returns_constant(std::span<const std::byte> code, std::uint16_t machine) {
  if (machine == kMachineAmd64) return returns_constant_x86(code);
  if (machine == kMachineAarch64) return returns_constant_aarch64(code);
  return false;
}

}  // namespace cudart_doctor::elf
