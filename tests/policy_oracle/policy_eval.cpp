// Reads a maps text on standard input and prints, for each scanning rule, its id, outcome and the
// text that it would open, separated by tabs, and the names that it binds, by blanks. Records end
// in NUL: a path may hold anything else.
#include <iostream>
#include <iterator>
#include <string>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace {

using cudart_doctor::Outcome;

const char* word_for(Outcome outcome) {
  switch (outcome) {
    case Outcome::selected: return "selected";
    case Outcome::none: return "none";
    case Outcome::unexpected_filename: return "AssertionError";
    case Outcome::no_path: return "ValueError";
    default: return "other";
  }
}

}  // namespace

int main() {
  const std::string text((std::istreambuf_iterator<char>(std::cin)), {});
  auto maps = cudart_doctor::parse_maps(text);
  if (!maps) {
    std::cerr << maps.error().message << '\n';
    return 1;
  }
  cudart_doctor::Snapshot snapshot;
  snapshot.origin = cudart_doctor::SnapshotOrigin::fixture;
  snapshot.maps = std::move(*maps);
  for (const auto& policy : cudart_doctor::policies()) {
    if (!policy.scans_addresses) continue;
    const auto selection = policy.decide(policy, {snapshot, {}});
    std::cout << policy.id << '\t' << word_for(selection.outcome) << '\t';
    for (const auto name : policy.bound_names) std::cout << name << ' ';
    std::cout << '\t' << selection.chosen_text << '\0';
  }
  return 0;
}
