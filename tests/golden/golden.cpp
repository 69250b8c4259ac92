// golden NAME: prints the text report of a typical situation; golden --list: the names. What it
// prints is compared with NAME.txt beside this file; scripts/generate-golden writes those.
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "cases/case_snapshot.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/render/render.hpp"
#include "golden/recorded.hpp"

namespace cudart_doctor::test {
namespace {

enum class Origin { bundle, case_file, refusal, recording };

struct Situation {
  std::string_view name;
  Origin origin = Origin::bundle;
  std::string_view source{};  ///< Of a case: its file in tests/cases. Of a recording: the bundle of
                              ///< the process that was judged; "": none was.
};

constexpr std::array<Situation, 13> kSituations{{
    {"healthy"},
    {"stub_first"},
    {"two_majors"},
    {"deleted"},
    {"replaced"},
    {"driver_stub", Origin::case_file, "OC-11.case"},
    {"compat_too_old", Origin::case_file, "OC-13.case"},
    {"equal_inner_pids", Origin::case_file, "OC-02.case"},
    {"static_only"},
    {"no_permission", Origin::refusal},
    {"run_stub", Origin::recording, "stub_first"},
    {"run_odd", Origin::recording, "stub_first"},
    {"run_nothing", Origin::recording},
}};

/// A case does not say who its process is; a report of a server does.
void dress(Snapshot& snapshot) {
  constexpr std::int64_t kPid = 4121;
  ProcessFacts& process = snapshot.process;
  if (process.ns_pids.empty()) process.pid = kPid;
  process.comm = "sglang::schedul";
  process.command_line = Fact<std::vector<std::string>>::known({"sglang::scheduler_TP0"});
  snapshot.host.name = "gpu-17";
}

Result<Snapshot> from_case(std::string_view file) {
  const std::string path = std::string(CASES_DIRECTORY "/").append(file);
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  const auto runs = parse_case(text.str(), path);
  if (!runs) return tl::unexpected(runs.error());
  auto snapshot = make_snapshot(runs->front());
  if (snapshot) dress(*snapshot);
  return snapshot;
}

/// The message on stderr where the kernel refuses a look at another user's process.
std::string refusal() {
  constexpr std::uint32_t kNobody = 65534;
  ProcessFacts process;
  process.pid = 4121;
  process.uid = 0;
  process.comm = "python3";
  const Error error = system_error(EACCES, "/proc/4121/root", Need::same_user);
  return "cudart-doctor: error: " + refused(error, process, kNobody).message + "\n";
}

Result<Snapshot> snapshot_of(const Situation& situation) {
  const std::string folder = GOLDEN_DIRECTORY "/";
  switch (situation.origin) {
    case Origin::bundle: return read_bundle(folder + std::string(situation.name));
    case Origin::recording:
      return with_recording(folder + std::string(situation.name) + ".recording.json",
                            situation.source.empty() ? "" : folder + std::string(situation.source));
    case Origin::case_file:
    case Origin::refusal: break;
  }
  return from_case(situation.source);
}

Result<std::string> text_of(const Situation& situation) {
  if (situation.origin == Origin::refusal) return refusal();
  auto snapshot = snapshot_of(situation);
  if (!snapshot) return tl::unexpected(snapshot.error());
  return render_text(make_report(std::move(*snapshot), {}), {});
}

int print(std::string_view name) {
  const auto* const situation =
      std::find_if(kSituations.begin(), kSituations.end(),
                   [name](const Situation& each) { return each.name == name; });
  if (situation == kSituations.end()) {
    std::cerr << "no situation " << name << "\n";
    return 2;
  }
  const auto text = text_of(*situation);
  if (!text) {
    std::cerr << name << ": " << text.error().message << "\n";
    return 1;
  }
  std::cout << *text;
  return 0;
}

}  // namespace
}  // namespace cudart_doctor::test

int main(int argc, char** argv) {
  using namespace cudart_doctor::test;
  if (argc != 2) {
    std::cerr << "usage: golden NAME | --list\n";
    return 2;
  }
  const std::string_view name = argv[1];
  if (name != "--list") return print(name);
  for (const Situation& situation : kSituations) std::cout << situation.name << "\n";
  return 0;
}
