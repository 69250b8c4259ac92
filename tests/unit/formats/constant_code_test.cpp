// Functions that only return a constant, in each form that compilers give them, and what only
// begins like one.
#include "formats/constant_code.hpp"

#include <initializer_list>
#include <vector>

#include "formats/elf_format.hpp"
#include "support/catch.hpp"

namespace cudart_doctor::elf {
namespace {

using Code = std::vector<unsigned>;

bool constant_x86(const Code& bytes) {
  std::vector<std::byte> code;
  for (const unsigned each : bytes) code.push_back(static_cast<std::byte>(each));
  return returns_constant(code, kMachineAmd64);
}

bool constant_aarch64(const Code& words) {
  std::vector<std::byte> code;
  for (const unsigned word : words) {
    for (unsigned shift = 0; shift < 32; shift += 8) {
      code.push_back(static_cast<std::byte>(word >> shift));
    }
  }
  return returns_constant(code, kMachineAarch64);
}

TEST_CASE("x86_64: each way to return a constant, with and without a frame") {
  CHECK(constant_x86({0xB8, 34, 0, 0, 0, 0xC3}));                          // -O2
  CHECK(constant_x86({0x31, 0xC0, 0xC3}));                                 // 0
  CHECK(constant_x86({0x33, 0xC0, 0xC3}));                                 // 0, the other encoding
  CHECK(constant_x86({0x6A, 34, 0x58, 0xC3}));                             // clang -Oz
  CHECK(constant_x86({0xB8, 34, 0, 0, 0, 0xF3, 0xC3}));                    // rep ret
  CHECK(constant_x86({0xF3, 0x0F, 0x1E, 0xFA, 0xB8, 34, 0, 0, 0, 0xC3}));  // -fcf-protection
  CHECK(constant_x86({0x55, 0x48, 0x89, 0xE5, 0xB8, 34, 0, 0, 0, 0x5D, 0xC3}));  // -O0
  // Arguments stored: edi, rsi, r8d; one far down in the frame.
  CHECK(constant_x86({0x55, 0x48, 0x89, 0xE5, 0x89, 0x7D, 0xFC, 0x48, 0x89, 0x75, 0xF0,
                      0x44, 0x89, 0x45, 0xE8, 0xB8, 34,   0,    0,    0,    0x5D, 0xC3}));
  CHECK(constant_x86({0x55, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xEC, 0x10, 0x89, 0xBD,
                      0,    0xFF, 0xFF, 0xFF, 0x48, 0x89, 0xB5, 0,    0xFF, 0xFF,
                      0xFF, 0xB8, 34,   0,    0,    0,    0xC9, 0xC3}));
}

TEST_CASE("x86_64: what does more, or is cut, is no constant") {
  CHECK_FALSE(constant_x86({}));
  CHECK_FALSE(constant_x86({0xC3}));                                      // returns what was there
  CHECK_FALSE(constant_x86({0xB8, 34, 0, 0}));                            // cut in the number
  CHECK_FALSE(constant_x86({0xB8, 34, 0, 0, 0}));                         // cut behind it
  CHECK_FALSE(constant_x86({0x6A}));                                      // cut
  CHECK_FALSE(constant_x86({0x6A, 34, 0x59, 0xC3}));                      // pops another register
  CHECK_FALSE(constant_x86({0x55, 0xB8, 34, 0, 0, 0, 0x5D, 0xC3}));       // no frame behind push
  CHECK_FALSE(constant_x86({0x55, 0x48, 0x89, 0xE5, 0x48, 0x83, 0xEC}));  // cut in the room
  CHECK_FALSE(constant_x86({0x55, 0x48, 0x89, 0xE5, 0xB8, 34, 0, 0, 0, 0xC3}));  // frame left
  CHECK_FALSE(constant_x86({0xE8, 1, 2, 3, 4, 0xC3}));                           // calls
  CHECK_FALSE(constant_x86({0xB8, 34, 0, 0, 0, 0xE9, 1, 2, 3, 4}));              // jumps
}

TEST_CASE("aarch64: a move to w0 between what only moves the stack, and a return") {
  constexpr unsigned kMove34 = 0x52800440;
  constexpr unsigned kRet = 0xD65F03C0;
  CHECK(constant_aarch64({kMove34, kRet}));
  CHECK(constant_aarch64({0xD503245F, kMove34, kRet}));  // bti c
  // sub sp, sp, #16; str w0, [sp, #12]; str x1, [sp]; mov; add sp, sp, #16; ret
  CHECK(constant_aarch64({0xD10043FF, 0xB9000FE0, 0xF90003E1, kMove34, 0x910043FF, kRet}));
  CHECK_FALSE(constant_aarch64({kRet}));
  CHECK_FALSE(constant_aarch64({kMove34}));
  CHECK_FALSE(constant_aarch64({kMove34, 0x94000001, kRet}));  // bl
  CHECK_FALSE(constant_aarch64(Code(20, kMove34)));            // never returns
  CHECK_FALSE(returns_constant({}, 0));
}

}  // namespace
}  // namespace cudart_doctor::elf
