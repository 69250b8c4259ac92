// What a process may do and which device nodes it sees, asked of processes that had something taken
// away: needs root to take it.
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/sys/supervise.hpp"
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::capture;
using live::Scratch;
using live::Victim;

namespace {

void need_root() {
  if (::geteuid() != 0) live::skip_program("needs root: takes rights away and mounts");
}

/// The effective capabilities of a process, as capget(2) says.
std::uint64_t effective_of(pid_t pid) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, pid};
  std::array<__user_cap_data_struct, 2> data = {};
  REQUIRE(::syscall(SYS_capget, &header, data.data()) == 0);
  return data[0].effective | (std::uint64_t{data[1].effective} << 32);
}

/// A cgroup of its own where device rules would count; path() is empty where none can be made.
class Cgroup {
 public:
  explicit Cgroup(const std::string& name) {
    for (const char* const base : {"/sys/fs/cgroup/devices/", "/sys/fs/cgroup/"}) {
      const std::string directory = base + name;
      if (::mkdir(directory.c_str(), 0755) != 0) continue;
      path_ = directory;
      if (std::filesystem::exists(directory + "/cgroup.procs")) return;
      ::rmdir(directory.c_str());
      path_.clear();
    }
  }
  ~Cgroup() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A mount namespace whose /dev holds what `fill` makes.
Victim victim_with_dev(void (*fill)()) {
  return Victim([fill] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("dev", "/dev", "tmpfs", 0, "mode=755") != 0) {
      ::_exit(126);
    }
    ::umask(0);
    fill();
  });
}

void make_node(const char* path, unsigned mode, unsigned number_major, unsigned number_minor) {
  if (::mknod(path, S_IFCHR | mode, makedev(number_major, number_minor)) != 0) ::_exit(126);
}

/// False, with a warning, where this machine lets nobody make device nodes.
bool can_make_nodes() {
  Scratch scratch;
  if (::mknod(scratch.path("node").c_str(), S_IFCHR | 0600, makedev(195, 0)) == 0) return true;
  WARN("skipped: mknod: " << std::strerror(errno));
  return false;
}

std::vector<std::string> paths_of(const ProcessRights& rights) {
  REQUIRE(rights.device_nodes.is_known());
  std::vector<std::string> paths;
  for (const DeviceNode& node : *rights.device_nodes.get()) paths.push_back(node.path);
  return paths;
}

}  // namespace

TEST_CASE("a capability that was taken away is missing in every mask") {
  need_root();
  constexpr std::uint64_t kLost = std::uint64_t{1} << CAP_MKNOD;
  Victim whole;
  Victim reduced([] {
    if (::prctl(PR_CAPBSET_DROP, CAP_MKNOD) != 0) ::_exit(126);
  });
  auto before = capture(whole.pid());
  auto after = capture(reduced.pid());
  REQUIRE(before);
  REQUIRE(after);
  REQUIRE(after->process.rights.effective.is_known());
  CHECK(*before->process.rights.effective.get() == effective_of(whole.pid()));
  CHECK(*after->process.rights.effective.get() == effective_of(reduced.pid()));
  CHECK(*after->process.rights.permitted.get() ==
        (*before->process.rights.permitted.get() & ~kLost));
  CHECK(*after->process.rights.bounding.get() == (*before->process.rights.bounding.get() & ~kLost));
  CHECK(*after->process.own_rights.effective.get() == effective_of(0));
}

TEST_CASE("supplementary groups are the target's, not the doctor's") {
  need_root();
  Victim victim([] {
    const std::array<gid_t, 2> groups = {44, 70000};
    if (::setgroups(groups.size(), groups.data()) != 0) ::_exit(126);
  });
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  CHECK(snapshot->process.rights.groups == std::vector<std::uint32_t>{44, 70000});
  CHECK(snapshot->process.own_rights.groups != snapshot->process.rights.groups);
}

TEST_CASE("a target in another cgroup has its path, the doctor another") {
  need_root();
  const std::string name = "cudart-doctor-test-" + std::to_string(::getpid());
  const Cgroup cgroup(name);
  if (cgroup.path().empty()) {
    WARN("skipped: no cgroup can be made here");
    return;
  }
  const Victim victim;
  live::write_text(cgroup.path() + "/cgroup.procs", std::to_string(victim.pid()));
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  REQUIRE(snapshot->process.rights.cgroup.is_known());
  CHECK_THAT(*snapshot->process.rights.cgroup.get(), Catch::Matchers::EndsWith("/" + name));
  CHECK_THAT(*snapshot->process.own_rights.cgroup.get(), !Catch::Matchers::EndsWith("/" + name));
}

TEST_CASE("device nodes are those of the target's mount namespace") {
  need_root();
  if (!can_make_nodes()) return;
  const Victim victim = victim_with_dev([] {
    make_node("/dev/nvidia0", 0660, 195, 0);
    make_node("/dev/nvidiactl", 0666, 195, 255);
    if (::chown("/dev/nvidia0", 7, 44) != 0) ::_exit(126);
  });
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  const ProcessRights& rights = snapshot->process.rights;
  REQUIRE(paths_of(rights) == std::vector<std::string>{"/dev/nvidia0", "/dev/nvidiactl"});
  const DeviceNode& card = rights.device_nodes.get()->front();
  CHECK(card.dev_major == 195);
  CHECK(card.dev_minor == 0);
  CHECK(card.mode == 0660);
  CHECK(card.uid == 7);
  CHECK(card.gid == 44);
  CHECK(rights.device_nodes.get()->back().dev_minor == 255);
  const auto own = paths_of(snapshot->process.own_rights);
  CHECK((std::find(own.begin(), own.end(), "/dev/nvidia0") != own.end()) ==
        std::filesystem::exists("/dev/nvidia0"));
}

TEST_CASE("of /dev only the driver's own nodes are listed") {
  need_root();
  if (!can_make_nodes()) return;
  const Victim victim = victim_with_dev([] {
    for (const char* const path :
         {"/dev/nvidia10", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset",
          "/dev/nvidia", "/dev/nvidia0x", "/dev/nvidia-other", "/dev/null"}) {
      make_node(path, 0666, 195, 1);
    }
    if (::mkdir("/dev/nvidia-caps", 0755) != 0) ::_exit(126);
    make_node("/dev/nvidia-caps/nvidia-cap1", 0400, 237, 1);
    live::write_text("/dev/nvidia3", "no device");
    if (::symlink("/dev/nvidia-gone", "/dev/nvidia4") != 0) ::_exit(126);
  });
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  CHECK(paths_of(snapshot->process.rights) ==
        std::vector<std::string>{"/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-modeset",
                                 "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia10"});
}

TEST_CASE("the node of WSL's driver says that there is no CUDA IPC") {
  need_root();
  if (!can_make_nodes()) return;
  const Victim victim = victim_with_dev([] { make_node("/dev/dxg", 0666, 10, 125); });
  auto snapshot = capture(victim.pid());
  REQUIRE(snapshot);
  CHECK(paths_of(snapshot->process.rights) == std::vector<std::string>{"/dev/dxg"});
  CHECK_THAT(snapshot->host.no_ipc_sign, ContainsSubstring("WSL2"));
}

TEST_CASE("a /dev that does not answer makes the nodes unknown, not absent") {
  need_root();
  const Victim victim;
  CaptureOptions options;
  options.pid = victim.pid();
  options.skip_paths = {"/proc/" + std::to_string(victim.pid()) + "/root/dev"};
  auto snapshot = capture_process(options, live::rules());
  REQUIRE(snapshot);
  CHECK(snapshot->process.rights.device_nodes.is_unknown());
  CHECK_THAT(snapshot->process.rights.device_nodes.reason(),
             ContainsSubstring("/dev: did not answer"));
}

TEST_CASE("a peer in another PID namespace shows its number in each") {
  need_root();
  Scratch scratch;
  Victim target;
  auto result = run_supervised({}, [&](Progress&) {
    WorkResult done;
    done.code = 1;
    if (::unshare(CLONE_NEWPID) != 0) {
      done.code = 77;
      done.output = std::strerror(errno);
      return done;
    }
    const Victim peer;  // The first process of the new namespace.
    CaptureOptions options;
    options.pid = target.pid();
    options.peers = {peer.pid()};
    auto snapshot = capture_process(options, live::rules());
    if (!snapshot) {
      done.output = snapshot.error().message;
      return done;
    }
    auto written = write_bundle(*snapshot, scratch.path("bundle"));
    done.output = written ? std::to_string(peer.pid()) : written.error().message;
    done.code = written ? 0 : 1;
    return done;
  });
  REQUIRE(result);
  INFO(result->output);
  if (result->code == 77) {
    WARN("skipped: unshare: " << result->output);
    return;
  }
  REQUIRE(result->code == 0);
  auto snapshot = read_bundle(scratch.path("bundle"));
  REQUIRE(snapshot);
  REQUIRE(snapshot->peers.size() == 1);
  const PeerFacts& peer = snapshot->peers.front();
  CHECK(std::to_string(peer.pid) == result->output);
  REQUIRE(peer.ns_pids.size() >= 2);
  CHECK(peer.ns_pids.back() == 1);
  CHECK(peer.namespaces.at("pid") != snapshot->process.namespaces.at("pid"));
}

TEST_CASE("a peer of another user is refused, with the right that is missing") {
  need_root();
  const Victim peer;
  auto result = run_supervised({}, [&](Progress&) {
    constexpr unsigned kNobody = 65534;
    WorkResult done;
    if (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
      ::_exit(126);
    }
    const Victim target;
    CaptureOptions options;
    options.pid = target.pid();
    options.peers = {peer.pid()};
    auto snapshot = capture_process(options, live::rules());
    if (!snapshot) {
      done.output = snapshot.error().message;
      done.code = static_cast<int>(snapshot.error().kind);
    }
    return done;
  });
  REQUIRE(result);
  CHECK(result->code == static_cast<int>(ErrorKind::permission));
  CHECK_THAT(result->output, ContainsSubstring("--peer " + std::to_string(peer.pid()) + ": "));
  CHECK_THAT(result->output, ContainsSubstring("needs the same user, or CAP_SYS_PTRACE"));
}
