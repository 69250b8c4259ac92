// Instructions as Debian's assembler and linker for aarch64 made them, and where objdump says they
// go.
#include "recorder/aarch64_code.hpp"

#include "support/catch.hpp"

using namespace cudart_doctor::recorder;

TEST_CASE("calls of aarch64 are told from other branches") {
  // bl, blr x3, blraaz x3, blrabz x4, blraa x3 x5, blrab x30 sp
  for (const std::uint32_t code :
       {0x97fffffeU, 0xd63f0060U, 0xd63f087fU, 0xd63f0c9fU, 0xd73f0865U, 0xd73f0fdfU}) {
    CAPTURE(code);
    CHECK(aarch64::is_call(code));
  }
  // ret, br x3, b, paciasp, nop, all zeros
  for (const std::uint32_t code :
       {0xd65f03c0U, 0xd61f0060U, 0x17fffff8U, 0xd503233fU, 0xd503201fU, 0U}) {
    CAPTURE(code);
    CHECK_FALSE(aarch64::is_call(code));
  }
}

TEST_CASE("a branch with link goes forwards and backwards") {
  CHECK(aarch64::branch_target(0xea8, 0x97ffff22) == 0xb30);
  CHECK(aarch64::branch_target(0xf5c, 0x97fffef5) == 0xb30);
  CHECK(aarch64::branch_target(0x13058, 0x94006096) == 0x2b2b0);
  CHECK(aarch64::branch_target(0x4, 0xd63f0060) == 0);
}

TEST_CASE("a stub of the PLT tells its slot") {
  const std::uint32_t lazy[] = {0x90000110, 0xf9401e11, 0x9100e210};
  CHECK(aarch64::stub_slot(0xb30, lazy) == 0x20038);
  const std::uint32_t bound[] = {0xf00000f0, 0xf9479e11, 0x913ce210};
  CHECK(aarch64::stub_slot(0xb30, bound) == 0x1ff38);
  const std::uint32_t padded[] = {0xd503245f, 0x90000110, 0xf9401e11};
  CHECK(aarch64::stub_slot(0xb2c, padded) == 0x20038);
  // A stub at the end of a page: its ADRP counts from the page that it is in itself.
  CHECK(aarch64::stub_slot(0xffc, padded) == 0x21038);
  const std::uint32_t function[] = {0xd503233f, 0xa9bf7bfd, 0x910003fd};
  CHECK(aarch64::stub_slot(0xb30, function) == 0);
}

TEST_CASE("a signed return address is the plain one below its signature") {
  CHECK(aarch64::without_signature(0x0055aaaabbbb1234) == 0xaaaabbbb1234);
  CHECK(aarch64::without_signature(0x0000ffff'9a3c0e9c) == 0xffff'9a3c0e9c);
}
