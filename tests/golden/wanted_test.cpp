// What the rules want to know about a recorded process's disk is what was recorded of it.
#include <filesystem>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

struct Bundle {
  std::string name;
  Snapshot snapshot;
};

std::vector<Bundle> bundles() {
  std::vector<Bundle> out;
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_DIRECTORY)) {
    if (!entry.is_directory()) continue;
    auto snapshot = read_bundle(entry.path().string());
    REQUIRE(snapshot);
    out.push_back({entry.path().filename().string(), std::move(*snapshot)});
  }
  REQUIRE(out.size() > 3);
  return out;
}

std::vector<DiskRequest> wanted(const Snapshot& snapshot) {
  std::vector<DiskRequest> all;
  for (auto* const ask : {&wanted_by_policies, &wanted_by_consumers, &wanted_by_driver,
                          &wanted_by_sonames, &wanted_by_preloads, &wanted_by_nvrtc}) {
    const auto more = ask(snapshot);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST_CASE("whatever a rule wants to know of a recorded process was recorded") {
  for (const Bundle& bundle : bundles()) {
    const auto requests = wanted(bundle.snapshot);
    CHECK(requests.size() > 10);
    for (const DiskRequest& request : requests) {
      INFO(bundle.name << ": " << request.path);
      CHECK(bundle.snapshot.disk.contains(request.path));
    }
  }
}

TEST_CASE("a rule looks at no file that it did not ask for") {
  for (const Bundle& bundle : bundles()) {
    // What the rules did not ask for is taken away, but for the installed libraries themselves.
    Snapshot less = bundle.snapshot;
    std::map<std::string, DiskEntry> asked;
    for (const DiskRequest& request : wanted(less)) {
      const auto found = less.disk.find(request.path);
      if (found != less.disk.end()) asked.insert(*found);
    }
    for (const InstalledFile& file : less.installed) {
      const auto found = less.disk.find(file.path);
      if (found != less.disk.end()) asked.insert(*found);
    }
    less.disk = std::move(asked);
    const Report whole = make_report(bundle.snapshot, {});
    const Report part = make_report(std::move(less), {});
    REQUIRE(whole.selections.size() == part.selections.size());
    for (std::size_t i = 0; i < whole.selections.size(); ++i) {
      INFO(bundle.name << ": " << whole.selections[i].policy);
      CHECK(whole.selections[i].outcome == part.selections[i].outcome);
      CHECK(whole.selections[i].chosen_text == part.selections[i].chosen_text);
    }
  }
}

}  // namespace
