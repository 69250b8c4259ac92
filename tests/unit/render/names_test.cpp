// The words of the JSON report against the enums that docs/report.schema.json lists.
#include "render/names.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

using Words = std::vector<std::string>;

/// The words of an enumeration whose last value is `last`, in its order.
template <typename Enum>
Words words_to(Enum last) {
  Words out;
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    out.emplace_back(name_of(static_cast<Enum>(i)));
  }
  return out;
}

/// The words that the schema allows for a property, without null.
Words allowed(const std::string& definition, const std::string& property) {
  static const auto schema = nlohmann::json::parse(json_schema());
  const auto& part = schema.at("$defs").at(definition);
  const auto& list = property.empty() ? part : part.at("properties").at(property);
  Words out;
  for (const auto& word : list.at("enum")) {
    if (word.is_string()) out.push_back(word);
  }
  return out;
}

/// Behind the last value there is none: a new one is not forgotten here.
template <typename Enum>
bool is_last(Enum value) {
  return name_of(static_cast<Enum>(static_cast<int>(value) + 1)).empty();
}

template <typename Enum>
void check(const std::string& definition, const std::string& property, Enum last) {
  INFO(definition << " " << property);
  CHECK(words_to(last) == allowed(definition, property));
  CHECK(is_last(last));
}

TEST_CASE("the words of an enumeration are those of the schema, in its order") {
  check("target", "origin", SnapshotOrigin::fixture);
  check("finding", "severity", Severity::critical);
  check("verdict", "worst", Severity::critical);
  check("finding", "owner", Owner::user);
  check("run", "end", ProcessEnd::unknown);
  check("run_process", "judged", JudgeMoment::load);
  check("run_event", "kind", LoadKind::unload);
  check("run_event", "cause", LoadCause::opened);
  check("run_story", "reason", StoryReason::first_runtime);
  check("runtime", "kind", RuntimeKind::undetermined);
  check("runtime", "state", FileState::memory);
  check("runtime", "read_route", ReadRoute::fixture);
  check("companion", "kind", CompanionKind::undetermined);
  check("file_owner", "kind", PackageKind::rpm);
  check("presence", "", Presence::unknown);
  check("step", "verdict", StepVerdict::noted);
  check("selection", "outcome", Outcome::not_applicable);
  check("selection", "open", OpenOutcome::unknown);
  check("selection", "stability", Stability::not_by_address);
  check("environment", "origin", EnvironmentOrigin::fixture);
  check("probe", "decision", ProbeDecision::run);
  check("probe_verdict", "outcome", ProbeOutcome::not_confirmed);
  check("probe_stage", "outcome", StageOutcome::begun);
  check("probe_stage", "side", ProbeSide::importer);
  check("child_end", "end", ChildEndKind::left);
  // These two are tables, whose size is that of the enumeration.
  CHECK(words_to(Stage::peer_access) == allowed("probe_stage", "stage"));
  CHECK(words_to(Mechanism::legacy_on_pinned) == allowed("sharing", "mechanism"));
}

TEST_CASE("a report is of no wrong command line, and a path that is not known is null in it") {
  Words ends = words_to(RunEnd::undecided);
  CHECK(is_last(RunEnd::undecided));
  std::erase(ends, "usage");
  CHECK(ends == allowed("verdict", "state"));
  Words arrivals = words_to(Arrival::opened);
  CHECK(is_last(Arrival::opened));
  std::erase(arrivals, "unknown");
  CHECK(arrivals == allowed("runtime", "arrival"));
}

TEST_CASE("the words of an error are those of the schema, and one that is none is of the system") {
  static const auto schema = nlohmann::json::parse(json_schema());
  const auto& kinds =
      schema.at("$defs").at("failure").at("properties").at("error").at("properties").at("kind");
  CHECK(words_to(ErrorKind::unsupported) == kinds.at("enum").get<Words>());
}

}  // namespace
}  // namespace cudart_doctor
