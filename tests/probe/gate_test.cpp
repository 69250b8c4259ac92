// Whose cards: NVML's answer from a library that stands for it, and what is said without one.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "cudart_doctor/probe/runner.hpp"
#include "live/live_support.hpp"
#include "probe/card_users.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;
using live::Victim;

namespace {

/// A folder with a libnvidia-ml.so.1, and a plan whose children find it.
ProbePlan plan_with_nvml(const Scratch& scratch, std::string_view mood) {
  live::copy_file(PROBE_FAKE_NVML, scratch.path("libnvidia-ml.so.1"));
  ProbePlan plan;
  plan.environment = {{"LD_LIBRARY_PATH", scratch.path("")},
                      {"FAKE_NVML", std::string(mood)},
                      {"PROBE_TEST", std::to_string(::getpid())}};
  return plan;
}

/// A folder that looks like /proc, in which process 77 holds what `target` names.
ProcDirectory proc_with_user(const Scratch& scratch, const std::string& target) {
  std::filesystem::create_directories(scratch.path("77/fd"));
  std::filesystem::create_symlink(target, scratch.path("77/fd/5"));
  return std::move(*ProcDirectory::open(scratch.path("")));
}

}  // namespace

TEST_CASE("NVML tells what a card is and who uses it") {
  Scratch scratch;
  const auto gate = look_at_cards(plan_with_nvml(scratch, ""), probe::options());
  INFO(gate.cards_note);
  REQUIRE(gate.cards.size() == 1);
  const auto& card = gate.cards[0];
  CHECK(gate.asked);
  CHECK(gate.cards_note.empty());
  CHECK(card.uuid == "GPU-0123");
  CHECK(card.name == "A card");
  CHECK(card.node == "/dev/nvidia3");
  CHECK(card.compute_mode == "exclusive");
  CHECK(card.used_bytes == 100);
  CHECK(card.free_bytes == 900);
  CHECK(card.users.size() == 200);
}

TEST_CASE("an older NVML is asked in its own version") {
  Scratch scratch;
  const auto gate = look_at_cards(plan_with_nvml(scratch, "old"), probe::options());
  REQUIRE(gate.cards.size() == 1);
  CHECK(gate.cards[0].used_bytes == 150);
}

TEST_CASE("NVML that cannot start is quoted with its code") {
  Scratch scratch;
  const auto gate = look_at_cards(plan_with_nvml(scratch, "no-driver"), probe::options());
  CHECK_THAT(gate.cards_note, ContainsSubstring("nvmlInit_v2: 9 (Driver Not Loaded)"));
}

TEST_CASE("without NVML the loader's reason is given") {
  ProbePlan plan;
  plan.environment = {{"LD_LIBRARY_PATH", "/no/such/folder"}};
  const auto gate = look_at_cards(plan, probe::options());
  CHECK(gate.asked);
  if (gate.cards_note.empty()) live::skip_program("this machine has NVML");
  CHECK_THAT(gate.cards_note, ContainsSubstring("libnvidia-ml.so.1"));
}

TEST_CASE("NVML that never answers is given up") {
  Scratch scratch;
  auto options = probe::options();
  options.deadline = std::chrono::milliseconds(400);
  const auto began = std::chrono::steady_clock::now();
  const auto gate = look_at_cards(plan_with_nvml(scratch, "hang"), options);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
  CHECK_THAT(gate.cards_note, ContainsSubstring("no answer in time"));
  CHECK(probe::all_marked_end());
}

TEST_CASE("who has a card's node open is using it") {
  Scratch scratch;
  const auto users = find_node_users(proc_with_user(scratch, "/dev/nvidia3"));
  REQUIRE(users.by_node.size() == 1);
  CHECK(users.by_node.at("/dev/nvidia3") == std::set<std::int64_t>{77});
}

TEST_CASE("a node that is no card has no users") {
  Scratch scratch;
  CHECK(find_node_users(proc_with_user(scratch, "/dev/nvidia-uvm")).by_node.empty());
  CHECK_FALSE(is_card_node("/dev/nvidiactl"));
}

TEST_CASE("the MPS control of the target's environment is found where it exists") {
  Scratch scratch;
  ProbePlan plan;
  plan.environment = {{"CUDA_MPS_PIPE_DIRECTORY", scratch.path("mps")}};
  CHECK(look_at_cards(plan, probe::options()).mps.empty());
  std::filesystem::create_directory(scratch.path("mps"));
  REQUIRE(::mkfifo(scratch.path("mps/control").c_str(), 0600) == 0);
  CHECK(look_at_cards(plan, probe::options()).mps == scratch.path("mps/control"));
}
