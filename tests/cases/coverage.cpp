// case_coverage FILE...: every finding of the catalogue is expected by one of these cases, and
// expected to be absent by another. Prints what is missing; exits 1 when something is.
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <string>

#include "case_file.hpp"
#include "cudart_doctor/analyze/catalogue.hpp"

namespace cudart_doctor::test {
namespace {

struct Coverage {
  std::set<std::string> found;
  std::set<std::string> absent;
  bool broken = false;  ///< A file is no case.
};

Coverage with_file(Coverage coverage, const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  const auto runs = parse_case(text.str(), path);
  if (!stream || !runs) {
    std::cout << path << ": " << (runs ? "cannot be read" : runs.error().message) << "\n";
    coverage.broken = true;
    return coverage;
  }
  for (const CaseRun& run : *runs) {
    for (const Expectation& each : run.expectations) {
      if (each.kind == Expectation::Kind::find) coverage.found.insert(each.subject);
      if (each.kind == Expectation::Kind::absent) coverage.absent.insert(each.subject);
    }
  }
  return coverage;
}

int report(const Coverage& coverage) {
  int missing = coverage.broken ? 1 : 0;
  for (const CatalogueEntry& entry : catalogue()) {
    const std::string id(entry.id);
    if (!coverage.found.contains(id)) {
      std::cout << id << " " << entry.slug << ": no case expects it\n";
      ++missing;
    }
    if (!coverage.absent.contains(id)) {
      std::cout << id << " " << entry.slug << ": no case expects it to be absent\n";
      ++missing;
    }
  }
  if (missing == 0) std::cout << catalogue().size() << " findings, each with both\n";
  return missing == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cudart_doctor::test

int main(int argc, char** argv) {
  using namespace cudart_doctor::test;
  Coverage coverage;
  for (int i = 1; i < argc; ++i) coverage = with_file(std::move(coverage), argv[i]);
  return report(coverage);
}
