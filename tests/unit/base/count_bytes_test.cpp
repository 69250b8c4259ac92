#include "cudart_doctor/base/count_bytes.hpp"

#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("bytes are counted in texts of any length") {
  constexpr std::size_t kSizes[] = {0, 1, 7, 31, 32, 33, 64, 255 * 32, 255 * 32 + 5, 100'000};
  for (const std::size_t size : kSizes) {
    INFO(size);
    CHECK(count_bytes(std::string(size, '\n'), '\n') == size);
    CHECK(count_bytes(std::string(size, 'x'), '\n') == 0);
    CHECK(count_bytes(std::string(size, 'x') + "\xff", '\xff') == 1);
  }
}
