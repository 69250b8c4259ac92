// One exporter and one importer serving one order: started together, listened to, and ended when
// they are through, when one of them is lost, or at a limit. No process of theirs is left.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "descendants.hpp"
#include "rights.hpp"
#include "start_child.hpp"

namespace cudart_doctor {

/// What all pairs of a probe have in common.
struct PairSetting {
  const ChildRights* rights = nullptr;
  const std::vector<std::string>* environment = nullptr;
  int executable = -1;
  SteadyTime end;                                 ///< Of the whole probe.
  std::chrono::milliseconds stage_limit{10'000};  ///< For one stage of one side.
  std::function<void(std::string_view)> progress;
  Descendants* descendants = nullptr;
};

enum class Partner : std::uint8_t { importer, none };

struct PairRequest {
  ProbeOrder order;        ///< `side` and the runtimes' descriptors are filled in.
  std::vector<int> files;  ///< One for each runtime of the order.
  Partner partner = Partner::importer;
};

/// What came of one runtime of the order.
struct RuntimeRecord {
  std::vector<StageResult> stages;
  std::optional<int> runtime_version;
  std::optional<int> driver_version;
  std::vector<std::string> missing;
  std::vector<std::string> elsewhere;
  bool failed = false;    ///< A stage failed that tests the runtime and not the driver.
  bool finished = false;  ///< Every side was through with it.
};

struct PairOutcome {
  std::vector<RuntimeRecord> runtimes;  ///< As in the order.
  std::vector<StageResult> start;       ///< Stage `start` of each side.
  bool started = false;                 ///< No side was lost before its first record.
  std::vector<StartNote> notes;         ///< Steps that a child went on without.
  std::optional<std::size_t> culprit;   ///< At which runtime the pair was lost.
  ChildEnd exporter;
  ChildEnd importer;
  std::vector<ProbeDevice> devices;
  std::optional<ProbeDriver> driver;
  std::vector<MechanismResult> mechanisms;
  bool driver_checked = false;  ///< Control, PTX or a mechanism was reached.
};

/// Never fails as a whole. Returns at most 2 s after setting.end.
PairOutcome run_pair(const PairSetting& setting, PairRequest request);

/// "10 s", "300 ms"
std::string shown(std::chrono::milliseconds time);

}  // namespace cudart_doctor
