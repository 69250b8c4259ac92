// Every run of the cases in tests/cases, for what holds of all of them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "cases/case_snapshot.hpp"
#include "support/catch.hpp"

namespace cudart_doctor::test {

inline std::vector<CaseRun> every_case_run() {
  std::vector<CaseRun> out;
  for (const auto& entry : std::filesystem::directory_iterator(CASES_DIRECTORY)) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    auto runs = parse_case(text.str(), entry.path().string());
    REQUIRE(runs);
    std::ranges::move(*runs, std::back_inserter(out));
  }
  return out;
}

}  // namespace cudart_doctor::test
