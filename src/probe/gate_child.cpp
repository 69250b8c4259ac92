// The child that asks NVML who uses the cards, and writes a ProbeGate as JSON. Never a CUDA call:
// NVML makes no context and takes no memory of a card.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "collect/json_archive.hpp"
#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "nvml_api.hpp"

namespace cudart_doctor {
namespace {

class Nvml {
 public:
  /// False: note() says why.
  bool open() {
    constexpr const char* kName = "libnvidia-ml.so.1";
    library_ = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      const char* const text = ::dlerror();
      note_ = text == nullptr ? std::string(kName) + " cannot be opened" : text;
      return false;
    }
    const auto init = find<nvml::Init>("nvmlInit_v2");
    return init != nullptr ? succeeded("nvmlInit_v2", init()) : false;
  }

  std::vector<CardUse> cards() {
    std::vector<CardUse> all;
    const auto get_count = find<nvml::GetCount>("nvmlDeviceGetCount_v2");
    const auto get_handle = find<nvml::GetHandle>("nvmlDeviceGetHandleByIndex_v2");
    if (get_count == nullptr || get_handle == nullptr) return all;
    unsigned count = 0;
    if (!succeeded("nvmlDeviceGetCount_v2", get_count(&count))) return all;
    constexpr unsigned kMost = 256;
    for (unsigned index = 0; index < std::min(count, kMost); ++index) {
      nvml::Device device = nullptr;
      if (succeeded("nvmlDeviceGetHandleByIndex_v2", get_handle(index, &device))) {
        all.push_back(card(device));
      }
    }
    return all;
  }

  [[nodiscard]] const std::string& note() const { return note_; }

 private:
  template <typename Function>
  Function look_up(const char* name) {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }

  template <typename Function>
  Function find(const char* name) {
    const auto function = look_up<Function>(name);
    if (function == nullptr && note_.empty()) note_ = std::string("NVML has no ") + name;
    return function;
  }

  bool succeeded(const char* call, int code) {
    if (code == nvml::kSuccess) return true;
    if (!note_.empty()) return false;
    note_ = std::string(call) + ": " + std::to_string(code);
    if (const auto describe = look_up<nvml::ErrorString>("nvmlErrorString")) {
      note_ += " (" + std::string(describe(code)) + ")";
    }
    return false;
  }

  std::string text_of(nvml::Device device, const char* name) {
    std::array<char, nvml::kTextSize> text = {};
    const auto get = find<nvml::GetText>(name);
    if (get == nullptr || !succeeded(name, get(device, text.data(), nvml::kTextSize))) return {};
    return {text.data(), std::find(text.begin(), text.end(), '\0')};
  }

  CardUse card(nvml::Device device) {
    CardUse card;
    card.uuid = text_of(device, "nvmlDeviceGetUUID");
    card.name = text_of(device, "nvmlDeviceGetName");
    unsigned number = 0;
    const auto get_minor = find<nvml::GetNumber>("nvmlDeviceGetMinorNumber");
    if (get_minor != nullptr && succeeded("nvmlDeviceGetMinorNumber", get_minor(device, &number))) {
      card.node = "/dev/nvidia" + std::to_string(number);
    }
    const auto get_mode = find<nvml::GetNumber>("nvmlDeviceGetComputeMode");
    if (get_mode != nullptr && succeeded("nvmlDeviceGetComputeMode", get_mode(device, &number))) {
      card.compute_mode = mode_name(number);
    }
    add_memory(device, card);
    for (const char* kind : {"Compute", "Graphics", "MPSCompute"}) add_users(device, kind, card);
    return card;
  }

  static std::string mode_name(unsigned mode) {
    switch (mode) {
      case nvml::kComputeDefault: return "default";
      case nvml::kComputeProhibited: return "prohibited";
      case nvml::kComputeExclusiveThread:
      case nvml::kComputeExclusiveProcess: return "exclusive";
      default: return {};
    }
  }

  void add_memory(nvml::Device device, CardUse& card) {
    nvml::MemoryV2 memory;
    memory.version = nvml::kMemoryV2;
    const auto get_v2 = look_up<nvml::GetMemoryV2>("nvmlDeviceGetMemoryInfo_v2");
    if (get_v2 != nullptr && get_v2(device, &memory) == nvml::kSuccess) {
      card.used_bytes = memory.used;
      card.free_bytes = memory.free;
      return;
    }
    // Older drivers: what they keep for themselves counts as used.
    nvml::Memory older;
    const auto get = find<nvml::GetMemory>("nvmlDeviceGetMemoryInfo");
    if (get != nullptr && succeeded("nvmlDeviceGetMemoryInfo", get(device, &older))) {
      card.used_bytes = older.used;
      card.free_bytes = older.free;
    }
  }

  void add_users(nvml::Device device, const std::string& kind, CardUse& card) {
    const std::string name = "nvmlDeviceGet" + kind + "RunningProcesses";
    for (const char* version : {"_v3", "_v2"}) {
      const std::string versioned = name + version;
      if (const auto get = look_up<nvml::GetProcessesV2>(versioned.c_str())) {
        return add_pids(list<nvml::ProcessV2>(get, device, versioned.c_str()), card);
      }
    }
    // MPS lists are younger than the first version: none there is no answer that is missing.
    if (const auto get = look_up<nvml::GetProcessesV1>(name.c_str())) {
      add_pids(list<nvml::ProcessV1>(get, device, name.c_str()), card);
    }
  }

  template <typename Process>
  std::vector<Process> list(int (*get)(nvml::Device, unsigned*, Process*), nvml::Device device,
                            const char* name) {
    constexpr std::size_t kMost = 65536;
    std::vector<Process> processes(64);
    while (true) {
      auto count = static_cast<unsigned>(processes.size());
      const int code = get(device, &count, processes.data());
      if (code == nvml::kInsufficientSize && processes.size() < kMost) {
        // Some may have come since.
        processes.resize(std::clamp<std::size_t>(count + 16U, processes.size() * 2, kMost));
        continue;
      }
      const bool told = code == nvml::kSuccess;
      if (!told && code != nvml::kNotSupported) static_cast<void>(succeeded(name, code));
      processes.resize(told ? std::min<std::size_t>(count, processes.size()) : 0);
      return processes;
    }
  }

  template <typename Process>
  static void add_pids(const std::vector<Process>& processes, CardUse& card) {
    for (const Process& process : processes) card.users.push_back(process.pid);
  }

  void* library_ = nullptr;
  std::string note_;
};

}  // namespace

int gate_child_main() {
  ProbeGate gate;
  gate.asked = true;
  Nvml nvml;
  if (nvml.open()) gate.cards = nvml.cards();
  gate.cards_note = nvml.note();
  const auto written = write_all(kProbeResultFd, JsonWriter::encode(gate).dump());
  // Without the library's destructors: they are no business of ours.
  ::_exit(written ? 0 : 1);
}

}  // namespace cudart_doctor
