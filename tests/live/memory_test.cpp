// What lies in the target's memory: loader namespaces and the environment.
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::Victim;

TEST_CASE("a library in a second loader namespace is seen there") {
  Victim victim;
  REQUIRE(victim.tell("dlmopen", live::toy("toy_cudart13")) == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  REQUIRE(snapshot->link_map.is_known());
  const auto& namespaces = *snapshot->link_map.get();
  const auto* object = live::object_with_soname(*snapshot, "libcudart.so.13");
  REQUIRE(object != nullptr);
  const auto holds = [&](const LinkNamespace& one) {
    for (const auto& entry : one.entries) {
      if (entry.object && &snapshot->objects[*entry.object] == object) return true;
    }
    return false;
  };
  REQUIRE_FALSE(namespaces.empty());
  CHECK_FALSE(holds(namespaces[0]));
  if (namespaces.size() == 1) {
    // Before glibc 2.35 the namespace cannot be followed, and that is said.
    REQUIRE(snapshot->capture.notes.size() == 1);
    CHECK_THAT(snapshot->capture.notes[0], ContainsSubstring("dlmopen"));
  } else {
    CHECK(holds(namespaces[1]));
  }
}

TEST_CASE("the environment as of exec is taken as it is") {
  Victim victim([] { ::setenv("DOCTOR_TEST", "at exec", 1); });
  REQUIRE(victim.tell("setenv", "DOCTOR_TEST") == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* environment = snapshot->environment.get();
  REQUIRE(environment != nullptr);
  CHECK(environment->origin == EnvironmentOrigin::at_exec);
  REQUIRE(environment->find("DOCTOR_TEST") != nullptr);
  CHECK(*environment->find("DOCTOR_TEST") == "at exec");
}

TEST_CASE("an overwritten environment is read from memory") {
  const auto* title = GENERATE("", "scheduler_TP0");
  Victim victim([] { ::setenv("DOCTOR_TEST", "before", 1); });
  REQUIRE(victim.tell("title", title) == "ready");
  REQUIRE(victim.tell("setenv", "DOCTOR_TEST") == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const auto* environment = snapshot->environment.get();
  REQUIRE(environment != nullptr);
  CHECK(environment->origin == EnvironmentOrigin::live_memory);
  CHECK_THAT(environment->note, ContainsSubstring("overwritten"));
  REQUIRE(environment->find("DOCTOR_TEST") != nullptr);
  CHECK(*environment->find("DOCTOR_TEST") == "changed");
}
