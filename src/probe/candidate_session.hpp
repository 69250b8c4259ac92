// One candidate in this process: loaded, its names found, its devices counted, contexts made. Both
// children do this much by themselves; what they do together is in exporter and importer.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "child_frames.hpp"
#include "cudart_doctor/cuda/library.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "cudart_doctor/cuda/runtime_api.hpp"
#include "cudart_doctor/cuda/runtime_launcher.hpp"
#include "cudart_doctor/probe/protocol.hpp"

namespace cudart_doctor {

class CandidateSession {
 public:
  /// `frames` and `order` must outlive this.
  CandidateSession(const StageFrames& frames, const ProbeOrder& order)
      : frames_(frames), order_(order) {}

  /// load and symbols. False: why_not() says what the rest of the stages waits for.
  bool load(const OrderedRuntime& runtime);
  /// versions and devices, after load().
  bool count_devices();
  /// context of one device; remembers what failed.
  bool make_context(int device);
  /// Whether the device's context is there.
  [[nodiscard]] bool has_context(int device) const { return contexts_.contains(device); }

  /// "load failed", "cudaGetDeviceCount gave 35"; "" while nothing failed.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// The devices of the order that are there.
  [[nodiscard]] const std::vector<int>& devices() const { return devices_; }

  [[nodiscard]] const RuntimeApi& api() const { return bound_.api; }
  RuntimeLauncher& launcher() { return *launcher_; }
  RuntimeMemory& memory() { return *memory_; }
  /// The operators on `device`, which must be current; bound on first use.
  MhcOps& ops(int device);

 private:
  StageAnswer find_names(const Library& library);
  StageAnswer ask_versions();
  StageAnswer ask_devices();
  bool note(const StageAnswer& answer, std::string_view stage);

  const StageFrames& frames_;
  const ProbeOrder& order_;
  BoundRuntime bound_;
  std::unique_ptr<RuntimeLauncher> launcher_;
  std::unique_ptr<RuntimeMemory> memory_;
  std::map<int, std::unique_ptr<MhcOps>> ops_;
  std::vector<int> devices_;
  std::set<int> contexts_;
  std::string why_not_;
};

}  // namespace cudart_doctor
