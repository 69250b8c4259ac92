// The table itself, and which rules count as present.
#include <set>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

struct Seen {
  Presence presence;
  std::string note;
};

Seen presence_of(std::string_view policy, const Consumer& consumer) {
  const Snapshot snapshot = SnapshotBuilder(MapsText()).build();
  const std::vector<Consumer> consumers = {consumer};
  for (const Selection& selection : select_all({snapshot, {}}, consumers)) {
    if (selection.policy == policy) return {selection.presence, selection.presence_note};
  }
  FAIL("no such policy");
  return {};
}

Consumer consumer(std::string id, Presence presence, std::string version, std::string vintage) {
  Consumer made;
  made.id = std::move(id);
  made.name = "SGLang";
  made.presence = presence;
  made.version = std::move(version);
  made.vintage = std::move(vintage);
  return made;
}

}  // namespace

TEST_CASE("every row is complete, and ids and rule names are unique") {
  std::set<std::string_view> names;
  for (const Policy& policy : policies()) {
    INFO(policy.id);
    CHECK(names.insert(policy.id).second);
    if (!policy.rule.empty()) CHECK(names.insert(policy.rule).second);
    CHECK(policy.decide != nullptr);
    CHECK_FALSE(policy.vintage.empty());
    CHECK_FALSE(policy.source.empty());
    CHECK_FALSE(policy.summary.empty());
    CHECK_FALSE(policy.title.empty());
    CHECK(policy.title.size() <= 24);
    if (policy.scans_addresses) CHECK_FALSE(policy.bound_names.empty());
  }
}

TEST_CASE("each consumer has one present rule as its main one") {
  for (const char* id : {"vllm", "sglang", "flashinfer", "tilelang", "torch", "cudnn-frontend",
                         "cuda-pathfinder", "sglang-kernel"}) {
    int count = 0;
    for (const Policy& policy : policies()) {
      if (policy.consumer == id && policy.current && policy.since.empty()) ++count;
    }
    INFO(id);
    CHECK(count == 1);
  }
}

TEST_CASE("only the scanning rules go by addresses, and no preload binds names") {
  const std::set<std::string_view> scanners = {"vllm", "sglang", "flashinfer"};
  for (const Policy& policy : policies()) {
    INFO(policy.id);
    if (policy.scans_addresses) CHECK(scanners.contains(policy.consumer));
    if (policy.preload) CHECK(policy.bound_names.empty());
    if (policy.preload) CHECK_FALSE(policy.scans_addresses);
  }
}

TEST_CASE("what is not modelled is no row, and says why") {
  std::set<std::string_view> seen;
  for (const NotModelled& each : not_modelled()) {
    INFO(each.id);
    CHECK(seen.insert(each.id).second);
    CHECK(find_policy(each.id) == nullptr);
    CHECK_FALSE(each.consumer.empty());
    CHECK(each.what.ends_with('.'));
  }
  CHECK(seen.contains("jax-plugin"));
}

TEST_CASE("the rule names of the cases lead to their rows") {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"scan-substring", "sglang-legacy"},
      {"scan-basename", "flashinfer-2026-09"},
      {"dt-needed:13", "dlopen:libcudart.so.13"},
      {"dt-needed:12", "dlopen:libcudart.so.12"},
      {"dt-needed:11", "dlopen:libcudart.so.11.0"},
      {"cudnn-fe", "cudnn-frontend"},
      {"tilelang-shim", "tilelang-stub"}};
  for (const auto& [rule, id] : rows) {
    INFO(rule);
    REQUIRE(find_policy(rule) != nullptr);
    CHECK(find_policy(rule)->id == id);
    CHECK(find_policy(id) == find_policy(rule));
  }
  CHECK(find_policy("") == nullptr);
  CHECK(find_policy("scan") == nullptr);
}

TEST_CASE("presence follows the consumer and its vintage") {
  const auto installed = consumer("sglang", Presence::present, "0.5.9", "sglang-legacy");
  CHECK(presence_of("sglang-legacy", installed).presence == Presence::present);
  CHECK(presence_of("sglang-legacy", installed).note == "SGLang 0.5.9");
  CHECK(presence_of("sglang-2026-07", installed).presence == Presence::absent);
  CHECK(presence_of("sglang-2026-07", installed).note ==
        "another vintage is installed (sglang-legacy)");
  CHECK(presence_of("dlopen:libcudart.so", installed).presence == Presence::unknown);
  CHECK(presence_of("dlopen:libcudart.so", installed).note.empty());
  CHECK(presence_of("vllm-2026-07", installed).presence == Presence::unknown);

  const auto odd = consumer("sglang", Presence::present, "0.5.99", "");
  CHECK(presence_of("sglang-2026-07", odd).presence == Presence::unknown);
  const auto gone = consumer("sglang", Presence::absent, "", "");
  CHECK(presence_of("sglang-2026-07", gone).presence == Presence::absent);
}

TEST_CASE("a rule of a pull request is nowhere, unless its text was found") {
  const auto unknown = consumer("sglang", Presence::unknown, "", "");
  CHECK(presence_of("sglang-30870-draft", unknown).presence == Presence::absent);
  CHECK(presence_of("sglang-2026-07", unknown).presence == Presence::unknown);
  const auto draft = consumer("sglang", Presence::present, "0.5.15", "sglang-30870-draft");
  CHECK(presence_of("sglang-30870-draft", draft).presence == Presence::present);
}

TEST_CASE("FlashInfer's second rule follows the version, not the vintage") {
  const auto with = consumer("flashinfer", Presence::present, "0.7.2", "flashinfer-2026-09");
  const auto without = consumer("flashinfer", Presence::present, "0.7.1", "flashinfer-2026-09");
  CHECK(presence_of("flashinfer-b12x", with).presence == Presence::present);
  CHECK(presence_of("flashinfer-2026-09", with).presence == Presence::present);
  CHECK(presence_of("flashinfer-b12x", without).presence == Presence::absent);
}

TEST_CASE("a word that is no rule is answered by the rules of its consumer, or by near ones") {
  for (const std::string& id : near_policies("vllm")) CHECK(id.find("vllm") != std::string::npos);
  CHECK(near_policies("VLLM") == near_policies("vllm"));
  CHECK(near_policies("flashinfer").size() > 1);
  CHECK(near_policies("legacy").size() > 1);
  const auto near = near_policies("sglang-2026-7");
  CHECK(std::find(near.begin(), near.end(), "sglang-2026-07") != near.end());
  CHECK(near_policies("").empty());
  CHECK(near_policies("zzzzzzzzzz").empty());
  for (const Policy& policy : policies()) CHECK(near_policies(policy.id).size() <= 8);
}

TEST_CASE("what the rules want of the disk is sorted and named once") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/t/libcudart_stub.so", 1))
                                .env("VLLM_CUDART_SO_PATH", "/opt/libcudart.so.12")
                                .env("LD_LIBRARY_PATH", "/l1:/l2")
                                .build();
  const auto wanted = wanted_by_policies(snapshot);
  CHECK(std::is_sorted(wanted.begin(), wanted.end()));
  CHECK(std::adjacent_find(wanted.begin(), wanted.end()) == wanted.end());
  const auto has = [&](DiskRequest::Want want, std::string_view path) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const DiskRequest& request) {
      return request.want == want && request.path == path;
    });
  };
  CHECK(has(DiskRequest::Want::elf, "/opt/libcudart.so.12"));
  CHECK(has(DiskRequest::Want::elf, "/l1/libcudart.so.12"));
  CHECK(has(DiskRequest::Want::elf, "/l2/libcudart.so.13"));
  CHECK(has(DiskRequest::Want::elf, "/usr/lib/x86_64-linux-gnu/libcudart.so.11.0"));
  CHECK(has(DiskRequest::Want::list, "/t"));
}
