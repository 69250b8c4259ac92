// Peers of the target, the seccomp mode, and host facts that a folder that looks like /proc gives.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::Scratch;
using live::Victim;

namespace {

Result<Snapshot> capture_with(pid_t target, std::vector<std::int64_t> peers) {
  CaptureOptions options;
  options.pid = target;
  options.peers = std::move(peers);
  return capture_process(options, live::rules());
}

/// A process of a folder that looks like /proc.
void make_process(const Scratch& scratch) {
  const std::string stat =
      "77 (fake) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 5000 4096 1\n";
  std::filesystem::create_directories(scratch.path("77"));
  live::write_text(scratch.path("77/stat"), stat);
  live::write_text(scratch.path("77/status"), "Name:\tfake\nCapEff:\t0000000000000003\n");
  live::write_text(scratch.path("77/maps"),
                   "10000000-10001000 r-xp 00000000 08:01 42                       /no/file\n");
  live::write_text(scratch.path("77/statm"), "1 1 1 1 0 1 0\n");
  live::write_text(scratch.path("77/environ"), std::string_view("A=1\0", 4));
  std::filesystem::create_directories(scratch.path("empty"));
  std::filesystem::create_directory_symlink(scratch.path("empty"), scratch.path("77/root"));
}

Result<Snapshot> capture_fake(const Scratch& scratch) {
  CaptureOptions options;
  options.pid = 77;
  options.proc_root = scratch.path("");
  return capture_process(options, live::rules());
}

}  // namespace

TEST_CASE("a peer shows who it is and which cards it may see") {
  Victim target;
  Victim peer([] { ::setenv("CUDA_VISIBLE_DEVICES", "3,1", 1); });
  auto snapshot = capture_with(target.pid(), {peer.pid(), peer.pid()});
  REQUIRE(snapshot);
  REQUIRE(snapshot->peers.size() == 1);
  const PeerFacts& facts = snapshot->peers.front();
  CHECK(facts.pid == peer.pid());
  CHECK(facts.uid == ::geteuid());
  CHECK(facts.comm == "live_victim");
  CHECK(facts.ns_pids.front() == peer.pid());
  CHECK(facts.namespaces == snapshot->process.namespaces);
  CHECK(facts.rights.effective.is_known());
  CHECK(facts.rights.device_nodes.is_known());
  CHECK(*facts.visible_devices.get() == "3,1");
  CHECK(facts.found_by == "named with --peer");
}

TEST_CASE("a peer without the variable sees every card: the text is known to be empty") {
  Victim target;
  Victim peer([] { ::unsetenv("CUDA_VISIBLE_DEVICES"); });
  auto snapshot = capture_with(target.pid(), {peer.pid()});
  REQUIRE(snapshot);
  REQUIRE(snapshot->peers.front().visible_devices.is_known());
  CHECK(snapshot->peers.front().visible_devices.get()->empty());
}

TEST_CASE("the variable of a peer with a process title is read from its memory") {
  Victim target;
  Victim peer([] { ::setenv("CUDA_VISIBLE_DEVICES", "GPU-1", 1); });
  REQUIRE(peer.tell("title", "worker") == "ready");
  auto snapshot = capture_with(target.pid(), {peer.pid()});
  REQUIRE(snapshot);
  const auto& devices = snapshot->peers.front().visible_devices;
  INFO(devices.reason());
  REQUIRE(devices.is_known());
  CHECK(*devices.get() == "GPU-1");
}

TEST_CASE("a peer that is not there is named") {
  Victim target;
  auto snapshot = capture_with(target.pid(), {0x3ffffff});
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("--peer 67108863: no process with PID"));
}

TEST_CASE("a peer that is a zombie is named as one") {
  Victim target;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  auto snapshot = capture_with(target.pid(), {child});
  ::waitpid(child, nullptr, 0);
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::not_found);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("zombie"));
}

TEST_CASE("a peer that ends while it is looked at is gone") {
  Victim target;
  Victim peer;
  const std::string nodes = "/proc/" + std::to_string(peer.pid()) + "/root/dev";
  CaptureOptions options;
  options.pid = target.pid();
  options.peers = {peer.pid()};
  options.progress = [&](std::string_view, std::string_view path) {
    if (path == nodes) peer.end();
  };
  auto snapshot = capture_process(options, live::rules());
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::gone);
  CHECK_THAT(snapshot.error().message, ContainsSubstring("--peer "));
}

TEST_CASE("the target is no peer of its own") {
  Victim target;
  auto snapshot = capture_with(target.pid(), {target.pid()});
  REQUIRE_FALSE(snapshot);
  CHECK(snapshot.error().kind == ErrorKind::usage);
}

TEST_CASE("a target that filters its system calls says so") {
  Victim victim;
  REQUIRE(victim.tell("seccomp", "") == "ready");
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  REQUIRE(snapshot->process.rights.seccomp.is_known());
  CHECK(*snapshot->process.rights.seccomp.get() == 2);
}

TEST_CASE("rights that status does not tell are unknown, with the file named") {
  Scratch scratch;
  make_process(scratch);
  auto snapshot = capture_fake(scratch);
  REQUIRE(snapshot);
  const ProcessRights& rights = snapshot->process.rights;
  CHECK(*rights.effective.get() == 3);
  CHECK_THAT(rights.permitted.reason(), ContainsSubstring("77/status: no CapPrm"));
  CHECK_THAT(rights.seccomp.reason(), ContainsSubstring("77/status: no Seccomp"));
  CHECK_THAT(rights.cgroup.reason(), ContainsSubstring("77/cgroup"));
}

TEST_CASE("a target without /dev has no device nodes, and that is known") {
  Scratch scratch;
  make_process(scratch);
  auto snapshot = capture_fake(scratch);
  REQUIRE(snapshot);
  REQUIRE(snapshot->process.rights.device_nodes.is_known());
  CHECK(snapshot->process.rights.device_nodes.get()->empty());
}

TEST_CASE("Yama's scope is read, and its absence is said") {
  Scratch scratch;
  make_process(scratch);
  auto without = capture_fake(scratch);
  REQUIRE(without);
  CHECK(without->host.ptrace_scope.reason() == "no Yama");
  std::filesystem::create_directories(scratch.path("sys/kernel/yama"));
  live::write_text(scratch.path("sys/kernel/yama/ptrace_scope"), "2\n");
  auto with = capture_fake(scratch);
  REQUIRE(with);
  REQUIRE(with->host.ptrace_scope.is_known());
  CHECK(*with->host.ptrace_scope.get() == 2);
}

TEST_CASE("a Tegra board is a sign that there is no CUDA IPC") {
  Scratch scratch;
  make_process(scratch);
  auto elsewhere = capture_fake(scratch);
  REQUIRE(elsewhere);
  CHECK_THAT(elsewhere->host.no_ipc_sign, !ContainsSubstring("tegra234"));
  std::filesystem::create_directories(scratch.path("device-tree"));
  live::write_text(scratch.path("device-tree/compatible"),
                   std::string_view("nvidia,p3737\0nvidia,tegra234\0", 29));
  auto board = capture_fake(scratch);
  REQUIRE(board);
  CHECK(board->host.no_ipc_sign == "Tegra: the device tree names nvidia,tegra234");
}
