#include "cudart_doctor/formats/proc_text.hpp"

#include <array>
#include <cstring>
#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace std::string_literals;

TEST_CASE("status gives real ids, threads and the pid in every namespace") {
  const auto status = parse_status(
      "Name:\tsglang::schedul\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4120\nPid:\t4121\n"
      "Uid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\nNSpid:\t4121\t17\t1\nThreads:"
      "\t213\n");
  CHECK(status.name == "sglang::schedul");
  CHECK(status.state == 'S');
  CHECK(status.process_id == 4120);
  CHECK(status.uid == 1000U);
  CHECK(status.gid == 100U);
  CHECK(status.ns_pids == std::vector<std::int64_t>{4121, 17, 1});
  CHECK(status.threads == 213);
}

TEST_CASE("a status without a line leaves that field unset") {
  const auto status = parse_status("Name:\tx\nUid:\tnonsense\nGid:\t4294967296\nno colon\n\n");
  CHECK_FALSE(status.uid);
  CHECK_FALSE(status.gid);
  CHECK(status.ns_pids.empty());
  CHECK(status.threads == 0);
  CHECK(status.state == '?');
  CHECK(parse_status("").name.empty());
}

TEST_CASE("a process name may hold blanks and parentheses") {
  const auto stat =
      parse_stat("77 (a) b (c)) R 5 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 20 30\n");
  REQUIRE(stat);
  CHECK(stat->comm == "a) b (c)");
  CHECK(stat->state == 'R');
  CHECK(stat->parent_pid == 5);
  CHECK(stat->flags == 4194560);
  CHECK(stat->start_ticks == 987654);
}

TEST_CASE("a stat that is cut is malformed") {
  for (const char* text : {"", "77", "77 (x", "77 )x(", "77 (x) R 5 77", "77 (x)",
                           "7 (x) R p 7 7 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 9 1"}) {
    INFO(text);
    CHECK(parse_stat(text).error().kind == ErrorKind::malformed);
  }
}

TEST_CASE("environ keeps order, values with '=' and empty values") {
  const auto file = parse_environ("A=1\0B=x=y\0C=\0"s);
  CHECK(file.variables ==
        std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "x=y"}, {"C", ""}});
  CHECK(file.odd_entries == 0);
  CHECK_FALSE(file.all_nul);
}

TEST_CASE("an overwritten environ is never mistaken for an empty one") {
  CHECK(parse_environ(std::string(512, '\0')).all_nul);
  CHECK_FALSE(parse_environ("").all_nul);
  const auto title = parse_environ("sglang::scheduler_TP0\0\0\0\0"s);
  CHECK(title.variables.empty());
  CHECK(title.odd_entries == 2);
  const auto half = parse_environ("title of a process\0\0\0\0\0\0HOME=/root\0"s);
  CHECK(half.variables.size() == 1);
  CHECK(half.odd_entries == 2);
  CHECK(parse_environ("=x\0A=1\0"s).odd_entries == 1);
  CHECK(parse_environ("A=1\0B=cu"s).variables.size() == 2);
}

TEST_CASE("a command line is split at NUL, a title stays whole") {
  CHECK(parse_cmdline("python\0-m\0sglang.launch_server\0"s) ==
        std::vector<std::string>{"python", "-m", "sglang.launch_server"});
  CHECK(parse_cmdline("a\0\0b\0"s) == std::vector<std::string>{"a", "", "b"});
  CHECK(parse_cmdline("sglang::scheduler TP0"s) ==
        std::vector<std::string>{"sglang::scheduler TP0"});
  CHECK(parse_cmdline("sglang::scheduler TP0\0\0\0\0\0"s) ==
        std::vector<std::string>{"sglang::scheduler TP0"});
  CHECK(parse_cmdline("").empty());
  CHECK(parse_cmdline(std::string(5, '\0')).empty());
}

TEST_CASE("auxv ends at AT_NULL and tolerates a cut entry") {
  std::array<std::uint64_t, 7> words{6, 4096, 33, 0x7fff0000, 0, 0, 9};
  std::array<std::byte, sizeof words> bytes{};
  std::memcpy(bytes.data(), words.data(), sizeof words);
  const auto values = parse_auxv(bytes);
  CHECK(values.size() == 2);
  CHECK(values.at(33) == 0x7fff0000);
  CHECK(parse_auxv(std::span(bytes).first(20)).size() == 1);
  CHECK(parse_auxv({}).empty());
}

TEST_CASE("listeners of a port are found in tcp and tcp6, other states are not") {
  const char* const tcp =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 0100007F:7530 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 "
      "52011 1 0 100 0 0 10 0\n"
      "   1: 0100007F:7530 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 "
      "52012 1 0 20 4 30 10 -1\n"
      "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
      "911 1 0 100 0 0 10 0\n";
  const char* const tcp6 =
      "  sl  local_address                         remote_address                        st "
      "tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 00000000000000000000000000000000:7530 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000     0        0 777 1 0 100 0 0 10 0\n";
  CHECK(parse_listeners(tcp, 30000) == std::vector<std::uint64_t>{52011});
  CHECK(parse_listeners(tcp6, 30000) == std::vector<std::uint64_t>{777});
  CHECK(parse_listeners(tcp, 80).empty());
  CHECK(parse_listeners("   0: 0100007F:7530 00000000:0000 0A", 30000).empty());
  CHECK(parse_listeners("", 30000).empty());
}

TEST_CASE("the kernel module's version is read from both kinds of module") {
  CHECK(parse_driver_version(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Wed Jun 11 2025\n"
            "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n") == "535.261.03");
  CHECK(
      parse_driver_version(
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n") ==
      "580.95.05");
  CHECK(parse_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  384.81  Sat\n") ==
        "384.81");
  CHECK_FALSE(parse_driver_version("GCC version:  gcc version 12.2.0\n"));
  CHECK_FALSE(parse_driver_version("NVRM version: unknown\n"));
  CHECK_FALSE(parse_driver_version(""));
}

TEST_CASE("status gives groups, capability masks and the seccomp mode") {
  const auto status = parse_status(
      "Name:\tpython3\nUid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\nFDSize:\t64\n"
      "Groups:\t4 24 27 1000 \nNStgid:\t913\nNSpid:\t913\nThreads:\t1\nSigCgt:\t0000000100000002\n"
      "CapInh:\t0000000800000000\nCapPrm:\t00000000a80425fb\nCapEff:\t00000000a80425fa\n"
      "CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
      "Seccomp_filters:\t1\n");
  CHECK(status.groups == std::vector<std::uint32_t>{4, 24, 27, 1000});
  CHECK(status.cap_permitted == 0xa80425fbU);
  CHECK(status.cap_effective == 0xa80425faU);
  CHECK(status.cap_bounding == 0x1ffffffffffU);
  CHECK(status.seccomp == 2U);
}

TEST_CASE("capabilities that status does not tell are not none") {
  const auto status = parse_status("Groups:\t \nCapEff:\tnonsense\nCapPrm:\t\nSeccomp:\t-1\n");
  CHECK(status.groups.empty());
  CHECK_FALSE(status.cap_effective);
  CHECK_FALSE(status.cap_permitted);
  CHECK_FALSE(status.cap_bounding);
  CHECK_FALSE(status.seccomp);
  CHECK(parse_status("CapEff:\t0000000000000000\n").cap_effective == 0U);
}

TEST_CASE("the cgroup is the one whose device rules count") {
  CHECK(parse_cgroup("0::/kubepods.slice/pod1:x/cri-containerd-7.scope\n") ==
        "/kubepods.slice/pod1:x/cri-containerd-7.scope");
  CHECK(parse_cgroup("12:pids:/a\n11:cpu,cpuacct:/b\n5:memory,devices:/docker/7f\n1:name=systemd:"
                     "/c\n") == "/docker/7f");
  CHECK(parse_cgroup("5:devices:/docker/7f\n1:name=systemd:/c\n0::/system.slice\n") ==
        "/docker/7f");
  CHECK(parse_cgroup("1:name=systemd:/c\n0::/\n") == "/");
  CHECK_FALSE(parse_cgroup("1:name=devices:/c\n3:cpu:/a\n0:no second colon\n"));
  CHECK_FALSE(parse_cgroup(""));
}

TEST_CASE("Yama's scope is one digit from 0 to 3") {
  CHECK(parse_ptrace_scope("1\n") == 1);
  CHECK(parse_ptrace_scope("3\n") == 3);
  for (const char* text : {"", "4\n", "-1\n", "1 2\n"}) CHECK_FALSE(parse_ptrace_scope(text));
}

TEST_CASE("a WSL kernel carries its maker's name") {
  CHECK(is_wsl_kernel("5.15.167.4-microsoft-standard-WSL2"));
  CHECK(is_wsl_kernel("4.4.0-19041-Microsoft"));
  CHECK_FALSE(is_wsl_kernel("6.8.0-1017-azure"));
  CHECK_FALSE(is_wsl_kernel("microsof"));
  CHECK_FALSE(is_wsl_kernel(""));
}

TEST_CASE("a Tegra board is known by the names of its device tree") {
  CHECK(find_tegra("nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0"s) == "nvidia,tegra234");
  CHECK_FALSE(find_tegra("raspberrypi,4-model-b\0brcm,bcm2711\0"s));
  CHECK_FALSE(find_tegra(""));
}

TEST_CASE("mount points are bytes, whatever they hold") {
  const auto points = parse_mount_points(
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "36 22 0:40 / /mnt/with\\040blank\\134and\\012line rw - fuse silent rw\n"
      "37 22 0:41 /a /proc rw - proc none rw\n"
      "38 22 0:42 / /odd\\9 rw - tmpfs none rw\n"
      "39 22\n\n");
  CHECK(points == std::set<std::string>{"/", "/mnt/with blank\\and\nline", "/proc", "/odd\\9"});
}
