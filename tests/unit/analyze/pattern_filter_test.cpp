// The filter before the matcher: it may name too much, never too little.
#include "pattern_filter.hpp"

#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

PatternFilter filter_of(std::string_view pattern) {
  PatternFilter filter;
  filter.add(pattern);
  filter.build();
  return filter;
}

}  // namespace

TEST_CASE("a pattern is named wherever it lies, whatever its case") {
  const PatternFilter filter = filter_of("libcudart*|Cannot Open File|");
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t behind = 0; behind < 10; ++behind) {
      INFO(before << " before, " << behind << " behind");
      const std::string text =
          std::string(before, 'x') + "cANNOT oPEN fILE" + std::string(behind, 'y');
      for (const std::size_t from : {std::size_t{0}, before}) {
        const std::size_t place = filter.find(text, from);
        CHECK(place >= before);
        CHECK(place < before + 16);
      }
    }
  }
}

TEST_CASE("a text without a pattern is passed over") {
  const PatternFilter filter = filter_of("cannot open file");
  for (const std::string_view text : {"", "can", "cannot", "cannot xpen file", "annot oen file"}) {
    CHECK(filter.find(text, 0) == std::string_view::npos);
  }
  CHECK(filter.find("cannot open file", 12) == std::string_view::npos);
}

TEST_CASE("a pattern too short to be told apart makes the filter name every place") {
  const PatternFilter filter = filter_of("short*parts");
  CHECK(filter.find("xyz", 0) == 0);
  CHECK(filter.find("xyz", 2) == 2);
  CHECK(filter.find("xyz", 3) == std::string_view::npos);
}
