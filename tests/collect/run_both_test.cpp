// Two things at once.
#include "cudart_doctor/sys/run_both.hpp"

#include <stdexcept>

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("both are done when run_both returns") {
  int own = 0;
  int beside = 0;
  for (int i = 0; i < 100; ++i) {
    run_both([&] { ++own; }, [&] { ++beside; });
    REQUIRE(own == i + 1);
    REQUIRE(beside == i + 1);
  }
}

TEST_CASE("what either throws is thrown, after both have ended") {
  bool done = false;
  const auto finish = [&] { done = true; };
  const auto fail = [] { throw std::runtime_error("x"); };
  CHECK_THROWS_AS(run_both(finish, fail), std::runtime_error);
  CHECK(done);
  if (!has_two_cpus()) return;
  done = false;
  CHECK_THROWS_AS(run_both(fail, finish), std::runtime_error);
  CHECK(done);
}
