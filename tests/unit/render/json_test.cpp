#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

using Json = nlohmann::ordered_json;

const Json& schema() {
  static const Json parsed = Json::parse(json_schema());
  return parsed;
}

Json json_of(const Report& report) { return Json::parse(render_json(report)); }

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::set<std::string> texts_of(const Json& list) {
  std::set<std::string> texts;
  for (const auto& item : list) {
    if (item.is_string()) texts.insert(item.get<std::string>());
  }
  return texts;
}

/// Schema and value side by side; remembers which object schemas met a value.
class Walker {
 public:
  void walk(const Json& node, const Json& value, const std::string& where) {
    if (node.contains("$ref")) {
      const std::string name = node["$ref"].get<std::string>().substr(8);  // "#/$defs/"
      visited.insert(name);
      walk(schema()["$defs"].at(name), value, where);
    } else if (node.contains("oneOf")) {
      // The report, or the document of a run without one.
      walk(node["oneOf"][value.contains("error") ? 1 : 0], value, where);
    } else if (node.contains("anyOf")) {
      if (!value.is_null()) walk(node["anyOf"][0], value, where);
    } else if (value.is_object()) {
      walk_object(node, value, where);
    } else if (value.is_array()) {
      for (const auto& item : value) walk(node["items"], item, where + "[]");
    }
  }

  std::set<std::string> visited;

 private:
  void walk_object(const Json& node, const Json& value, const std::string& where) {
    INFO(where);
    CHECK(node["additionalProperties"] == false);
    CHECK(texts_of(node["required"]) == keys_of(node["properties"]));
    CHECK(keys_of(value) == keys_of(node["properties"]));
    for (const auto& [key, child] : value.items()) {
      walk(node["properties"].at(key), child, where + "/" + key);
    }
  }
};

struct EnumCase {
  std::string schema_pointer;
  std::string value_pointer;
  int count = 0;
  std::function<void(Report&, int)> set;
};

template <typename Enum>
int count_to(Enum last) {
  return static_cast<int>(last) + 1;
}

/// Of a report that becomes one of a command.
Recording& recording_of(Report& report) {
  report = recorded_report();
  return *report.snapshot.recording.get();
}

std::vector<EnumCase> enum_cases() {
  return {
      {"/$defs/finding/properties/severity", "/findings/0/severity", count_to(Severity::critical),
       [](Report& r, int i) { r.findings[0].severity = static_cast<Severity>(i); }},
      {"/$defs/verdict/properties/worst", "/verdict/worst", count_to(Severity::critical),
       [](Report& r, int i) { r.verdict.worst = static_cast<Severity>(i); }},
      {"/$defs/verdict/properties/fail_on", "/verdict/fail_on", count_to(Severity::critical),
       [](Report& r, int i) { r.verdict.fail_on = static_cast<Severity>(i); }},
      {"/$defs/verdict/properties/exit_style", "/verdict/exit_style",
       count_to(ExitStyle::always_zero),
       [](Report& r, int i) { r.verdict.exit_style = static_cast<ExitStyle>(i); }},
      // A report never ends as a usage error.
      {"/$defs/verdict/properties/state", "/verdict/state", count_to(RunEnd::undecided) - 1,
       [](Report& r, int i) {
         const auto end = static_cast<RunEnd>(i);
         r.verdict.end = end == RunEnd::usage ? RunEnd::undecided : end;
       }},
      {"/$defs/finding/properties/owner", "/findings/0/owner", count_to(Owner::user),
       [](Report& r, int i) { r.findings[0].owner = static_cast<Owner>(i); }},
      {"/$defs/runtime/properties/kind", "/runtimes/0/kind", count_to(RuntimeKind::undetermined),
       [](Report& r, int i) { r.candidates[0].kind = static_cast<RuntimeKind>(i); }},
      {"/$defs/file_owner/properties/kind", "/runtimes/0/owner/kind", count_to(PackageKind::rpm),
       [](Report& r, int i) {
         r.snapshot.owners.begin()->second.get()->kind = static_cast<PackageKind>(i);
       }},
      {"/$defs/companion/properties/kind", "/companions/0/kind",
       count_to(CompanionKind::undetermined),
       [](Report& r, int i) { r.companions[0].kind = static_cast<CompanionKind>(i); }},
      {"/$defs/presence", "/consumers/0/presence", count_to(Presence::unknown),
       [](Report& r, int i) { r.consumers[0].presence = static_cast<Presence>(i); }},
      {"/$defs/selection/properties/outcome", "/selections/0/outcome",
       count_to(Outcome::not_applicable),
       [](Report& r, int i) { r.selections[0].outcome = static_cast<Outcome>(i); }},
      {"/$defs/selection/properties/open", "/selections/0/open", count_to(OpenOutcome::unknown),
       [](Report& r, int i) { r.selections[0].open = static_cast<OpenOutcome>(i); }},
      {"/$defs/selection/properties/stability", "/selections/0/stability",
       count_to(Stability::not_by_address),
       [](Report& r, int i) { r.selections[0].stability = static_cast<Stability>(i); }},
      {"/$defs/step/properties/verdict", "/selections/0/steps/0/verdict",
       count_to(StepVerdict::noted),
       [](Report& r, int i) { r.selections[0].steps[0].verdict = static_cast<StepVerdict>(i); }},
      {"/$defs/runtime/properties/state", "/runtimes/0/state", count_to(FileState::memory),
       [](Report& r, int i) { r.snapshot.objects[0].state = static_cast<FileState>(i); }},
      {"/$defs/companion/properties/state", "/companions/0/state", count_to(FileState::memory),
       [](Report& r, int i) { r.snapshot.objects[3].state = static_cast<FileState>(i); }},
      {"/$defs/runtime/properties/read_route", "/runtimes/0/read_route",
       count_to(ReadRoute::fixture),
       [](Report& r, int i) { r.snapshot.objects[0].route = static_cast<ReadRoute>(i); }},
      {"/$defs/companion/properties/read_route", "/companions/0/read_route",
       count_to(ReadRoute::fixture),
       [](Report& r, int i) { r.snapshot.objects[3].route = static_cast<ReadRoute>(i); }},
      {"/$defs/environment/properties/origin", "/environment/origin",
       count_to(EnvironmentOrigin::fixture),
       [](Report& r, int i) {
         r.snapshot.environment.get()->origin = static_cast<EnvironmentOrigin>(i);
       }},
      {"/$defs/target/properties/origin", "/target/origin", count_to(SnapshotOrigin::fixture),
       [](Report& r, int i) { r.snapshot.origin = static_cast<SnapshotOrigin>(i); }},
      {"/$defs/target/properties/mode", "/target/mode", 3,
       [](Report& r, int i) {
         r.snapshot.environment_only = i == 1;
         if (i == 2) r.snapshot.recording = RecordingFact::known({});
       }},
      {"/$defs/run/properties/end", "/run/end", count_to(ProcessEnd::unknown),
       [](Report& r, int i) { recording_of(r).end = static_cast<ProcessEnd>(i); }},
      {"/$defs/run_process/properties/end", "/run/processes/0/end", count_to(ProcessEnd::unknown),
       [](Report& r, int i) { recording_of(r).processes[0].end = static_cast<ProcessEnd>(i); }},
      {"/$defs/run_process/properties/judged", "/run/processes/0/judged",
       count_to(JudgeMoment::load),
       [](Report& r, int i) { recording_of(r).processes[0].judged = static_cast<JudgeMoment>(i); }},
      {"/$defs/run_process/properties/worst", "/run/processes/0/worst",
       count_to(Severity::critical),
       [](Report& r, int i) { recording_of(r).processes[0].worst = static_cast<Severity>(i); }},
      {"/$defs/run_event/properties/kind", "/run/events/0/kind", count_to(LoadKind::unload),
       [](Report& r, int i) { recording_of(r).events[0].kind = static_cast<LoadKind>(i); }},
      {"/$defs/run_event/properties/cause", "/run/events/0/cause", count_to(LoadCause::opened),
       [](Report& r, int i) { recording_of(r).events[0].cause = static_cast<LoadCause>(i); }},
      {"/$defs/run_story/properties/reason", "/run/story/reason",
       count_to(StoryReason::first_runtime),
       [](Report& r, int i) {
         recording_of(r);
         r.timeline.story->reason = static_cast<StoryReason>(i);
       }},
  };
}

}  // namespace

TEST_CASE("the schema version comes first") {
  for (const auto& [name, report] : all_reports()) {
    const std::string text = render_json(report);
    INFO(name);
    CHECK(text.starts_with("{\n  \"schema_version\": 1,\n"));
    CHECK(text.ends_with("}\n"));
    CHECK(Json::parse(text).is_object());
  }
}

TEST_CASE("schema and output have the same keys at every level, all of them required") {
  Walker walker;
  for (const auto& [name, report] : all_reports()) {
    walker.walk(schema(), json_of(report), name);
  }
  walker.walk(schema(), Json::parse(render_error_json({{ErrorKind::gone, "it ended", 0}, {}, 3})),
              "failure");
  CHECK(walker.visited == keys_of(schema()["$defs"]));
}

TEST_CASE("every value of every enumeration is in the schema, and no other") {
  for (const EnumCase& row : enum_cases()) {
    std::set<std::string> seen;
    for (int i = 0; i < row.count; ++i) {
      Report report = critical_report();
      row.set(report, i);
      seen.insert(json_of(report).at(Json::json_pointer(row.value_pointer)).get<std::string>());
    }
    INFO(row.schema_pointer);
    CHECK(seen.size() == static_cast<std::size_t>(row.count));
    CHECK(seen == texts_of(schema().at(Json::json_pointer(row.schema_pointer))["enum"]));
  }
}

TEST_CASE("every kind of failure is in the schema, and no other") {
  std::set<std::string> seen;
  for (int i = 0; i < count_to(ErrorKind::unsupported); ++i) {
    const Error error{static_cast<ErrorKind>(i), "message", 0};
    seen.insert(Json::parse(render_error_json({error, {}, 3}))["error"]["kind"].get<std::string>());
  }
  CHECK(seen.size() == static_cast<std::size_t>(count_to(ErrorKind::unsupported)));
  const Json& failure = schema()["$defs"]["failure"]["properties"]["error"]["properties"];
  CHECK(seen == texts_of(failure["kind"]["enum"]));
}

TEST_CASE("every result of a rule is in the schema, and no other") {
  Report report = critical_report();
  report.selections.resize(4);
  report.selections[1].missing_known = false;
  report.selections[2].missing_known = true;
  report.selections[3] = Selection{};
  std::set<std::string> seen;
  const Json out = json_of(report);
  for (const auto& selection : out["selections"]) {
    seen.insert(selection["result"].get<std::string>());
  }
  CHECK(seen == std::set<std::string>{"fails", "nothing", "ok", "unproven"});
  CHECK(seen == texts_of(schema()["$defs"]["selection"]["properties"]["result"]["enum"]));
}

TEST_CASE("an unknown value is null with its reason, a known one has none") {
  const Json unread = json_of(unreadable_report());
  CHECK(unread["environment"].is_null());
  CHECK(unread["environment_reason"] == "permission denied");
  CHECK(unread["link_map"].is_null());
  CHECK(unread["link_map_reason"] == "permission denied");
  CHECK(unread["target"]["executable"].is_null());
  CHECK(unread["target"]["executable_reason"] == "permission denied");
  CHECK(unread["runtimes"][0]["exported"].is_null());
  CHECK(unread["runtimes"][0]["build_id_reason"] ==
        "permission denied: needs the same user or CAP_SYS_PTRACE");
  CHECK(unread["selections"][0]["missing"].is_null());
  const Json known = json_of(critical_report());
  CHECK(known["target"]["executable"] == "/usr/bin/python3.12");
  CHECK(known["target"]["executable_reason"].is_null());
  CHECK(known["runtimes"][0]["missing"] == Json::array({"cudaDeviceReset"}));
}

TEST_CASE("a null with a reason is a null: the pair never disagrees") {
  const std::function<void(const Json&)> check = [&](const Json& value) {
    if (value.is_array()) {
      for (const auto& item : value) check(item);
    }
    if (!value.is_object()) return;
    for (const auto& [key, child] : value.items()) {
      check(child);
      if (!value.contains(key + "_reason")) continue;
      INFO(key);
      CHECK(child.is_null() != value[key + "_reason"].is_null());
    }
  };
  for (const auto& [name, report] : all_reports()) check(json_of(report));
}

TEST_CASE("identity, place and order are given as maps shows them") {
  const Json out = json_of(crowded_report());
  CHECK(out["runtimes"][0]["ref"] == "A");
  CHECK(out["runtimes"][0]["address"] == "0x7f1a10000000");
  CHECK(out["runtimes"][0]["device"] == "fe:02");
  CHECK(out["runtimes"][0]["inode"] == 1000);
  CHECK(out["runtimes"][0]["needed_by"] == Json::array());
  CHECK(out["runtimes"][1]["needed_by"].size() == 1);
  CHECK(out["runtimes"][3]["state"] == "replaced");
  CHECK(out["runtimes"][3]["marked_deleted"] == true);
  CHECK(out["runtimes"][3]["path_now"]["inode"] == 4711);
  CHECK(out["runtimes"][3]["other_paths"] ==
        Json::array({"/usr/local/cuda/lib64/libcudart.so.12"}));
  CHECK(out["runtimes"][6]["ref"] == "S1");
  CHECK(out["runtimes"][10]["ref"] == "G");
  CHECK(out["runtimes"][10]["address"].is_null());
  CHECK(out["runtimes"][10]["device"] == "fe:01");
  CHECK(out["installed"][0]["runtime"] == "G");
  const Json& space = out["link_map"]["namespaces"][0];
  CHECK(space["entry_count"] == 3);
  REQUIRE(space["entries"].size() == 2);
  CHECK(space["entries"][0]["position"] == 1);
  CHECK(space["entries"][0]["runtime"] == "B");
  CHECK(space["entries"][1]["companion"] == 0);
  CHECK(out["selections"][0]["runtime"] == "A");
  CHECK(out["selections"][0]["result"] == "fails");
}

TEST_CASE("only variables that bear on CUDA leave the machine, and no secret") {
  const Json out = json_of(critical_report());
  std::set<std::string> names;
  for (const auto& variable : out["environment"]["variables"]) {
    names.insert(variable["name"].get<std::string>());
  }
  CHECK(names ==
        std::set<std::string>{"CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NVIDIA_API_KEY"});
  CHECK(out["environment"]["other_variables"] == 1);
  CHECK(render_json(critical_report()).find("nvapi-0123") == std::string::npos);
  CHECK(render_json(healthy_report()).find("s3cr3t") == std::string::npos);
}

TEST_CASE("bytes that are no UTF-8 survive as escapes") {
  const Json out = json_of(hostile_report("/\xff\\x/libcudart.so.12"));
  CHECK(out["runtimes"][0]["path"] == "/\\xff\\\\x/libcudart.so.12");
  // A sentence embeds the same text, escaped once.
  CHECK(out["findings"][0]["headline"] == "seen at /\\xff\\\\x/libcudart.so.12 and not elsewhere");
}

TEST_CASE("text and JSON agree on the exit code") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    const std::string exit = "\nEXIT " + json_of(report)["verdict"]["exit_code"].dump() + "   ";
    // A recorded command ends with its own code, unless --judge-exit asks for this one.
    if (report.snapshot.recording.is_known()) {
      CHECK(render_text(report, {}).find("\nVERDICT") != std::string::npos);
      continue;
    }
    CHECK(render_text(report, {}).find(exit) != std::string::npos);
  }
}

TEST_CASE("an owner, nobody's file and an owner that is not known are three things") {
  Report report = critical_report();
  const std::string path = report.candidates[1].path;
  const Json known = json_of(report)["runtimes"];
  CHECK(known[0]["owner"]["package"] == "tilelang");
  CHECK(known[0]["owner_reason"].is_null());
  CHECK(known[1]["owner"].is_null());
  CHECK(known[1]["owner_reason"].get<std::string>().starts_with("not asked"));
  report.snapshot.owners[path] = Fact<FileOwner>::known({PackageKind::rpm, "a\xff", ""});
  const Json bare = json_of(report)["runtimes"][1];
  CHECK(bare["owner"]["package"] == "a\\xff");
  CHECK(bare["owner"]["version"].is_null());
  report.snapshot.owners[path] = Fact<FileOwner>::known({});
  const Json nobody = json_of(report)["runtimes"][1];
  CHECK(nobody["owner"].is_null());
  CHECK(nobody["unowned"] == true);
  report.snapshot.owners[path] = Fact<FileOwner>::unknown("refused");
  const Json unknown = json_of(report)["runtimes"][1];
  CHECK(unknown["owner_reason"] == "refused");
  CHECK(unknown["unowned"] == false);
}

TEST_CASE("the target tells its inner PID and its GPUs, or why they are not known") {
  Report report = critical_report();
  report.snapshot.process.ns_pids = {4121, 77};
  report.snapshot.probe.devices.emplace_back().uuid = "GPU-cc1d84a2-2";
  const Json known = json_of(report)["target"];
  CHECK(known["inner_pid"] == 77);
  CHECK(known["gpus"] == Json::parse(R"(["GPU-cc1d84a2-2"])"));
  CHECK(known["gpus_from"] == "visible to it");
  report.snapshot.process.ns_pids.clear();
  report.snapshot.probe.devices.clear();
  const Json unknown = json_of(report)["target"];
  CHECK(unknown["inner_pid"].is_null());
  CHECK(unknown["inner_pid_reason"].is_string());
  CHECK(unknown["gpus"].is_null());
  CHECK(unknown["gpus_reason"].is_string());
  CHECK(unknown["gpus_from"].is_null());
}
