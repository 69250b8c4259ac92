// The children have the target's rights and view, by what they say of themselves; needs root to
// become somebody else.
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/supervise.hpp"
#include "live/live_support.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;
using live::Victim;
using probe::options;
using probe::passed;
using probe::single_plan;

namespace {

constexpr unsigned kNobody = 65534;

void need_root() {
  if (::geteuid() != 0) live::skip_program("needs root: changes users and mounts");
}

void become_nobody() {
  const std::array<gid_t, 2> groups = {100, 200};
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(kNobody) != 0 ||
      ::setuid(kNobody) != 0) {
    ::_exit(126);
  }
}

/// Root with CAP_CHOWN and CAP_KILL only, and no way to more.
void become_weak_root() {
  for (unsigned one = 0; ::prctl(PR_CAPBSET_READ, one, 0, 0, 0) >= 0; ++one) {
    if (one != CAP_CHOWN && one != CAP_KILL) ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);
  }
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> sets = {};
  sets[0].permitted = sets[0].effective = (1U << CAP_CHOWN) | (1U << CAP_KILL);
  if (::syscall(SYS_capset, &header, sets.data()) != 0) ::_exit(126);
}

/// A plan whose children take the victim's rights and tell of `report`.
ProbePlan plan_as(const Victim& victim, std::string_view report) {
  ProbePlan plan = single_plan("");
  plan.identity.pid = victim.pid();
  plan.environment.emplace_back("REPORT", std::string(report));
  return plan;
}

/// The line of a status text.
std::string line_of(const std::string& status, const std::string& key) {
  const std::size_t begin = status.find("\n" + key + ":");
  if (begin == std::string::npos) return "no line " + key;
  const std::size_t value = begin + key.size() + 3;
  std::string line = status.substr(value, status.find('\n', value) - value);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

bool tells_of(const std::vector<std::string>& differences, std::string_view text) {
  return std::any_of(differences.begin(), differences.end(),
                     [&](const std::string& one) { return one.find(text) != std::string::npos; });
}

/// Why the first child did not start; "" where it did.
std::string start_failure(const ProbeFacts& facts) {
  const auto* start = probe::stage_of(facts.runtimes[0], Stage::start, ProbeSide::exporter);
  if (start == nullptr) start = probe::stage_of(facts.runtimes[0], Stage::start, ProbeSide::runner);
  return start == nullptr || start->outcome == StageOutcome::pass ? std::string() : start->detail;
}

/// In a mount namespace of its own, with a tmpfs that nobody else sees.
void hide_files_at(const std::string& place) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("toys", place.c_str(), "tmpfs", 0, "mode=755") != 0) {
    ::_exit(126);
  }
  live::write_text(place + "/inside", "seen");
  live::copy_file(live::toy("toy_cudart12"), place + "/libcudart.so.12");
}

}  // namespace

TEST_CASE("the children have the target's user, groups and no capability more") {
  need_root();
  Victim victim(become_nobody);
  const auto facts = probe::run(plan_as(victim, "/proc/self/status"), options());
  const auto status = probe::reported(facts);
  CHECK(passed(facts.runtimes[0]));
  CHECK(line_of(status, "Uid") == "65534\t65534\t65534\t65534");
  CHECK(line_of(status, "Gid") == "65534\t65534\t65534\t65534");
  CHECK(line_of(status, "Groups") == "100 200");
  CHECK(line_of(status, "CapPrm") == "0000000000000000");
  CHECK(line_of(status, "CapEff") == "0000000000000000");
  CHECK(line_of(status, "NoNewPrivs") == "1");
}

TEST_CASE("a root target with few capabilities has children with as few") {
  need_root();
  Victim victim(become_weak_root);
  const auto status = probe::reported(probe::run(plan_as(victim, "/proc/self/status"), options()));
  CHECK(line_of(status, "Uid") == "0\t0\t0\t0");
  CHECK(line_of(status, "CapPrm") == "0000000000000021");
  CHECK(line_of(status, "CapEff") == "0000000000000021");
  CHECK(line_of(status, "CapBnd") == "0000000000000021");
  CHECK(line_of(status, "CapAmb") == "0000000000000000");
}

TEST_CASE("root in another user namespace has no capability here") {
  need_root();
  Victim victim([] {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(126);
  });
  const auto facts = probe::run(plan_as(victim, "/proc/self/status"), options());
  CHECK(line_of(probe::reported(facts), "CapPrm") == "0000000000000000");
  CHECK(tells_of(facts.differences, "user namespace"));
}

TEST_CASE("of real and effective user the children have the one that is not root") {
  need_root();
  Victim victim([] {
    if (::setresuid(0, kNobody, 0) != 0) ::_exit(126);
  });
  const auto status = probe::reported(probe::run(plan_as(victim, "/proc/self/status"), options()));
  CHECK(line_of(status, "Uid") == "65534\t65534\t65534\t65534");
}

TEST_CASE("the children end with their parent although their ids changed") {
  need_root();
  Victim victim(become_nobody);
  // The worker is killed at its deadline while a child hangs.
  auto plan = plan_as(victim, "");
  plan.environment[0].second = "exporter:0:load=hang";
  SuperviseOptions limits;
  limits.deadline = std::chrono::milliseconds(1500);
  const auto result = run_supervised(limits, [&](Progress&) {
    static_cast<void>(run_probe(plan, options()));
    return WorkResult{};
  });
  CHECK_FALSE(result);
  // run_supervised waited for the worker; the kernel signals its children before that.
  CHECK(probe::all_marked_end());
}

TEST_CASE("the target's mount namespace is entered") {
  need_root();
  Scratch scratch;
  const auto place = scratch.path("inside");
  std::filesystem::create_directory(place);
  Victim victim([&] { hide_files_at(place); });
  auto plan = plan_as(victim, place + "/inside");
  plan.subjects[0].path = place + "/libcudart.so.12";
  plan.subjects[0].key = {};
  const auto facts = probe::run(plan, options());
  CHECK(probe::reported(facts) == "seen");
  CHECK(facts.runtimes[0].opened_by == "root_path");
}

TEST_CASE(
    "where the target's root has no C library nothing of it is run, nor in the doctor's root") {
  need_root();
  Scratch scratch;
  const auto root = scratch.path("root");
  for (const char* folder : {"/proc", "/old"}) {
    std::filesystem::create_directories(root + folder);
  }
  // Nothing but a program that needs no loader can be executed below that root.
  Victim victim;
  const pid_t chrooted = ::fork();
  if (chrooted == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("proc", (root + "/proc").c_str(), "proc", 0, nullptr) != 0) {
      ::_exit(126);
    }
    if (::chroot(root.c_str()) != 0 || ::chdir("/") != 0) ::_exit(126);
    while (true) ::pause();
  }
  const std::string link = "/proc/" + std::to_string(chrooted) + "/root";
  while (std::filesystem::read_symlink(link) != root) ::sched_yield();
  live::copy_file(live::toy("toy_cudart12"), root + "/libcudart.so.12");
  auto plan = single_plan("");
  plan.identity.pid = chrooted;
  plan.subjects[0].path = "/libcudart.so.12";
  plan.subjects[0].key = {};
  const auto facts = probe::run(plan, options());
  ::kill(chrooted, SIGKILL);
  ::waitpid(chrooted, nullptr, 0);
  CHECK(probe::stage_of(facts.runtimes[0], Stage::load, ProbeSide::exporter) == nullptr);
  CHECK(start_failure(facts) == "execveat: No such file or directory");
}

namespace {

/// A process that is the first of a PID namespace and has a /proc of its own.
class FirstOfNamespace {
 public:
  FirstOfNamespace() {
    outer_ = ::fork();
    if (outer_ != 0) {
      pid_ = wait_for_child();
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(126);
    const pid_t inner = ::fork();
    if (inner != 0) {
      while (true) ::pause();
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (::mount("proc", "/proc", "proc", 0, nullptr) != 0) ::_exit(126);
    ::prctl(PR_SET_NAME, "ready");
    while (true) ::pause();
  }
  FirstOfNamespace(const FirstOfNamespace&) = delete;
  FirstOfNamespace& operator=(const FirstOfNamespace&) = delete;
  ~FirstOfNamespace() {
    ::kill(pid_, SIGKILL);
    ::kill(outer_, SIGKILL);
    ::waitpid(outer_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  /// The child of outer_, once it is where it wants to be.
  [[nodiscard]] pid_t wait_for_child() const {
    const auto proc = ProcDirectory::open("/proc");
    while (true) {
      for (const std::int64_t pid : proc->list_pids().value_or(std::vector<std::int64_t>())) {
        const auto text = proc->read_file(std::to_string(pid) + "/stat");
        const auto stat = text ? parse_stat(*text) : tl::unexpected(text.error());
        if (stat && stat->parent_pid == outer_ && stat->comm == "ready") {
          return static_cast<pid_t>(pid);
        }
      }
      ::sched_yield();
    }
  }

  pid_t outer_ = -1;
  pid_t pid_ = -1;
};

ProbePlan plan_inside(const FirstOfNamespace& target, std::string_view script,
                      std::string_view report) {
  ProbePlan plan = single_plan(script);
  plan.identity.pid = target.pid();
  plan.environment.emplace_back("REPORT", std::string(report));
  return plan;
}

}  // namespace

TEST_CASE("the children are numbered in the target's PID namespace where /proc is its") {
  need_root();
  const FirstOfNamespace target;
  const auto facts = probe::run(plan_inside(target, "", "/proc/self/status"), options());
  CHECK(passed(facts.runtimes[0]));
  CHECK_FALSE(tells_of(facts.differences, "pid namespace"));
  // The target is 1 there.
  const auto inner = parse_unsigned(line_of(probe::reported(facts), "Pid"), 10);
  REQUIRE(inner);
  CHECK(*inner > 1);
  CHECK(*inner < 20);
}

TEST_CASE("a daemon in the target's PID namespace does not outlive the probe") {
  need_root();
  const FirstOfNamespace target;
  probe::run(plan_inside(target, "*:0:load=daemon", ""), options());
  CHECK(probe::all_marked_end());
}

TEST_CASE("root in a container has children without capabilities: nothing holds them down here") {
  need_root();
  const FirstOfNamespace target;
  const auto facts = probe::run(plan_inside(target, "", "/proc/self/status"), options());
  CHECK(line_of(probe::reported(facts), "CapPrm") == "0000000000000000");
  CHECK(tells_of(facts.differences, "CAP_SYS_PTRACE"));
}

TEST_CASE("capabilities that do not matter to CUDA are no difference") {
  need_root();
  Victim victim([] {
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(126);
    become_weak_root();
  });
  auto plan = plan_as(victim, "/proc/self/status");
  const auto facts = probe::run(plan, options());
  CHECK(line_of(probe::reported(facts), "CapPrm") == "0000000000000000");
  CHECK_FALSE(tells_of(facts.differences, "capabilities"));
}

TEST_CASE("the processes of a container do not reach the doctor's file through its children") {
  need_root();
  const FirstOfNamespace target;
  const auto facts = probe::run(plan_inside(target, "", "link:/proc/self/exe"), options());
  CHECK(probe::reported(facts) == "/memfd:cudart-doctor (deleted)");
}

TEST_CASE("the target's network and IPC namespaces are entered") {
  need_root();
  const auto kind = GENERATE(values<std::string>({"net", "ipc"}));
  Victim victim([] {
    if (::unshare(CLONE_NEWNET | CLONE_NEWIPC) != 0) ::_exit(126);
  });
  const std::string link = "/ns/" + kind;
  const auto facts = probe::run(plan_as(victim, "link:/proc/self" + link), options());
  CHECK(probe::reported(facts) ==
        std::filesystem::read_symlink("/proc/" + std::to_string(victim.pid()) + link));
}

TEST_CASE("a file is not run outside of the root directory that the process was given") {
  need_root();
  Scratch scratch;
  Victim victim;
  const pid_t chrooted = ::fork();
  if (chrooted == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::chroot(scratch.path("").c_str()) != 0) ::_exit(126);
    while (true) ::pause();
  }
  const std::string link = "/proc/" + std::to_string(chrooted) + "/root";
  while (std::filesystem::read_symlink(link) == "/") ::sched_yield();
  live::copy_file(live::toy("toy_cudart12"), scratch.path("libcudart.so.12"));
  auto plan = single_plan("");
  plan.identity.pid = chrooted;
  plan.subjects[0].path = "/libcudart.so.12";
  plan.subjects[0].key = {};
  const auto facts = probe::run(plan, options());
  ::kill(chrooted, SIGKILL);
  ::waitpid(chrooted, nullptr, 0);
  CHECK(start_failure(facts) == "/proc/self/fd: No such file or directory");
}

TEST_CASE("a deleted file is opened through the mapping") {
  need_root();
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  Victim victim;
  REQUIRE(victim.tell("dlopen", path) == "ready");
  auto plan = plan_as(victim, "");
  plan.subjects = {probe::subject_at(path)};
  const auto maps = parse_maps(live::read_text("/proc/" + std::to_string(victim.pid()) + "/maps"));
  for (const Mapping& row : maps->rows) {
    if (maps->path(row) != path || plan.subjects[0].map_hi != 0) continue;
    plan.subjects[0].map_lo = row.lo;
    plan.subjects[0].map_hi = row.hi;
  }
  REQUIRE(::unlink(path.c_str()) == 0);
  const auto facts = probe::run(plan, options());
  CHECK(facts.runtimes[0].opened_by == "map_files");
  CHECK(passed(facts.runtimes[0]));
}

TEST_CASE("a deleted file that cannot be reached is skipped with what it would need") {
  need_root();
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    Victim victim;
    victim.tell("dlopen", path);
    auto plan = plan_as(victim, "");
    plan.subjects = {probe::subject_at(path)};
    const auto maps =
        parse_maps(live::read_text("/proc/" + std::to_string(victim.pid()) + "/maps"));
    for (const Mapping& row : maps->rows) {
      if (maps->path(row) != path) continue;
      plan.subjects[0].map_lo = row.lo;
      plan.subjects[0].map_hi = row.hi;
    }
    ::unlink(path.c_str());
    WorkResult work;
    work.output = run_probe(plan, options()).runtimes[0].skipped;
    return work;
  });
  REQUIRE(result);
  CHECK_THAT(result->output, ContainsSubstring("CAP_CHECKPOINT_RESTORE"));
  CHECK_THAT(result->output, ContainsSubstring("No such file"));
}

TEST_CASE("a user without any right probes a process of his own") {
  need_root();
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    Victim victim;
    const auto facts = run_probe(plan_as(victim, ""), options());
    return WorkResult{.output = {}, .message = {}, .code = passed(facts.runtimes[0]) ? 0 : 1};
  });
  REQUIRE(result);
  CHECK(result->code == 0);
}

namespace {

/// How the probe starts that nobody, of the groups 100 and 200, makes of the victim.
std::string start_by_nobody(const Victim& victim) {
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    const auto facts = run_probe(plan_as(victim, ""), options());
    return WorkResult{.output = start_failure(facts), .message = {}, .code = 0};
  });
  REQUIRE(result);
  return result->output;
}

}  // namespace

TEST_CASE("a user without the right to enter the process's namespaces runs nothing of it") {
  need_root();
  Victim victim([] {
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(126);
    become_nobody();
  });
  CHECK(start_by_nobody(victim) == "setns: Operation not permitted");
}

TEST_CASE("a user in more groups than his process runs nothing of it") {
  need_root();
  Victim victim([] {
    constexpr gid_t kGroup = 100;
    if (::setgroups(1, &kGroup) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) {
      ::_exit(126);
    }
  });
  CHECK(start_by_nobody(victim) == "setgroups: Operation not permitted");
}

TEST_CASE("another user's process is not probed without the right to") {
  need_root();
  Victim victim;
  auto result = run_supervised({}, [&](Progress&) {
    become_nobody();
    auto plan = plan_as(victim, "");
    WorkResult work;
    const auto facts = run_probe(plan, options());
    for (const auto& stage : facts.runtimes[0].stages) work.output += stage.detail + "\n";
    return work;
  });
  REQUIRE(result);
  CHECK_THAT(result->output, ContainsSubstring("needs the same user, or CAP_SYS_PTRACE"));
}
