#include "cudart_doctor/base/byte_source.hpp"

#include <array>

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("a read past the end is short, an exact one fails") {
  const std::array<std::byte, 4> bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  MemorySource source(bytes);
  std::array<std::byte, 3> out{};
  CHECK(source.read_at(2, out).value() == 2);
  CHECK(source.read_at(4, out).value() == 0);
  CHECK(source.read_at(UINT64_MAX, out).value() == 0);
  CHECK(read_exact(source, 1, out).has_value());
  CHECK(out[2] == std::byte{4});
  CHECK(read_exact(source, 2, out).error().kind == ErrorKind::malformed);
}
