// Snapshots of cases, bundles and recordings with a few of their values taken away, or replaced by
// one that stands under the same key elsewhere: a clear error, or a report that every format can
// print and that a replay repeats. Which values is decided by a generator with a fixed seed.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/render/render.hpp"
#include "golden/all_cases.hpp"
#include "golden/recorded.hpp"
#include "render/style.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

using Json = nlohmann::json;
using Random = std::minstd_rand;

constexpr std::size_t kChangesOfEach = 16;
constexpr std::size_t kMostValues = 64;    // That are kept of one key.
constexpr std::size_t kMostBytes = 4'000;  // Of such a value.

struct Kept {
  std::string name;
  Json snapshot;
  std::string maps;
};

void add(std::vector<Kept>& out, std::string name, const Snapshot& snapshot) {
  out.push_back({std::move(name), Json::parse(snapshot_to_json(snapshot)), snapshot.maps.text});
}

std::vector<Kept> every_snapshot() {
  std::vector<Kept> out;
  for (const CaseRun& run : every_case_run()) add(out, run.name, make_snapshot(run).value());
  for (const std::string name : {"healthy", "stub_first", "two_majors", "deleted", "static_only"}) {
    add(out, name, read_bundle(GOLDEN_DIRECTORY "/" + name).value());
  }
  for (const std::string name : {"run_stub", "run_odd"}) {
    const std::string file = GOLDEN_DIRECTORY "/" + name + ".recording.json";
    add(out, name, with_recording(file, GOLDEN_DIRECTORY "/stub_first").value());
  }
  for (const auto& [name, report] : testing::all_reports()) add(out, name, report.snapshot);
  std::ranges::sort(out, {}, &Kept::name);
  return out;
}

struct Place {
  Json::json_pointer at;
  std::string key;
};

void add_places(const Json& value, const Json::json_pointer& at, std::vector<Place>& out) {
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_places(value[i], at / i, out);
  }
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    out.push_back({at / key, key});
    add_places(inner, at / key, out);
  }
}

using Pool = std::map<std::string, std::vector<Json>>;

Pool values_by_key(const std::vector<Kept>& all) {
  Pool pool;
  for (const Kept& each : all) {
    std::vector<Place> places;
    add_places(each.snapshot, Json::json_pointer(), places);
    for (const Place& place : places) {
      auto& values = pool[place.key];
      const Json& value = each.snapshot[place.at];
      if (values.size() == kMostValues || value.dump().size() > kMostBytes) continue;
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    }
  }
  return pool;
}

template <typename T>
const T& one_of(const std::vector<T>& list, Random& random) {
  return list[random() % list.size()];
}

void change(Json& snapshot, const Pool& pool, Random& random) {
  std::vector<Place> places;
  add_places(snapshot, Json::json_pointer(), places);
  const Place& place = one_of(places, random);
  Json& value = snapshot[place.at];
  if (random() % 8 == 0) {
    snapshot[place.at.parent_pointer()].erase(place.key);
  } else if (value.is_array() && !value.empty() && random() % 2 == 0) {
    const std::size_t at = random() % value.size();
    if (random() % 2 == 0) {
      value.erase(at);
    } else {
      value.push_back(Json(value[at]));
    }
  } else if (value.is_object() && value.contains("known") && random() % 2 == 0) {
    value = Json{{"unknown", "it was not to be read"}};
  } else if (const auto found = pool.find(place.key); found != pool.end()) {
    value = one_of(found->second, random);
  }
}

void check_pages(const Report& report) {
  const std::string text = render_text(report, {});
  for (const std::string_view line : split(text, '\n')) {
    INFO(line);
    CHECK(display_width(line) <= kColumns);
  }
  const std::string verbose = render_text(report, {.verbose = true, .columns = kFewestColumns});
  for (const std::string& page :
       {text, verbose, render_markdown(report), render_html(report), render_line(report),
        render_prometheus(report), render_junit(report), render_github(report)}) {
    CHECK(page.find('\x1b') == std::string::npos);
  }
  // A line says OK where the exit code does.
  const bool good = render_line(report).starts_with("OK ");
  CHECK((!good || report.verdict.exit_code == 0));
}

/// Whether it was read at all.
bool check_changed(const std::string& json, const std::string& maps) {
  auto snapshot = snapshot_from_json(json, maps, "snapshot.json");
  if (!snapshot) {
    CHECK_FALSE(snapshot.error().message.empty());
    return false;
  }
  const std::string written = snapshot_to_json(*snapshot);
  const Report report = make_report(std::move(*snapshot), {});
  check_pages(report);
  const std::string document = render_json(report);
  CHECK(Json::accept(document));
  auto again = snapshot_from_json(written, maps, "snapshot.json");
  REQUIRE(again);
  CHECK(render_json(make_report(std::move(*again), {})) == document);
  return true;
}

}  // namespace

TEST_CASE("a snapshot that was changed is refused, or judged and printed as any other") {
  const auto all = every_snapshot();
  const Pool pool = values_by_key(all);
  Random random(20261201);
  std::size_t tried = 0;
  std::size_t read = 0;
  for (const Kept& each : all) {
    for (std::size_t i = 0; i < kChangesOfEach; ++i) {
      Json changed = each.snapshot;
      for (std::size_t times = 1 + random() % 3; times != 0; --times) change(changed, pool, random);
      INFO(each.name << " " << i);
      ++tried;
      if (check_changed(changed.dump(), each.maps)) ++read;
    }
  }
  // Most of them are still snapshots, or nothing was tried.
  INFO(read << " of " << tried);
  CHECK(read > tried / 2);
  CHECK(read < tried);
}
