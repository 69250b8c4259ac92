// The stages that each child runs by itself, from dlopen to the primary context.
#include "candidate_session.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

bool CandidateSession::note(const StageAnswer& answer, std::string_view stage) {
  if (answer.ok()) return true;
  if (why_not_.empty()) why_not_ = std::string(stage) + " failed";
  return false;
}

bool CandidateSession::load(const OrderedRuntime& runtime) {
  std::optional<Library> library;
  const StageAnswer loaded = frames_.run(Stage::load, {}, [&] {
    auto opened = Library::open("/proc/self/fd/" + std::to_string(runtime.fd));
    if (!opened) {
      StageAnswer answer = wrong(opened.error().message);
      answer.call = "dlopen";
      return answer;
    }
    library = std::move(*opened);
    return passed();
  });
  if (!note(loaded, "load") || !library) return false;
  frames_.run(Stage::symbols, {}, [&] { return find_names(*library); });
  if (runtime.symbols_only) return true;
  // A name that a consumer binds and the probe does not call stops only that consumer.
  if (!bound_.missing.empty()) {
    why_not_ = "the candidate lacks " + join(bound_.missing, ", ");
    return false;
  }
  launcher_ = std::make_unique<RuntimeLauncher>(bound_.api);
  memory_ = std::make_unique<RuntimeMemory>(bound_.api);
  return true;
}

StageAnswer CandidateSession::find_names(const Library& library) {
  Frame frame;
  frame.kind = FrameKind::names;
  std::size_t in_others = 0;
  for (const std::string& name : order_.bound_names) {
    const LibrarySymbol symbol = library.find(name.c_str());
    if (!symbol.elsewhere.empty()) {
      frame.elsewhere.push_back(join({name, symbol.elsewhere}, " in "));
      ++in_others;
    } else if (symbol.address == nullptr) {
      frame.missing.push_back(name);
    }
    const std::string ahead = library.interposer(name.c_str());
    if (!ahead.empty()) {
      frame.elsewhere.push_back(join({name, ahead + ", ahead in global scope"}, " in "));
    }
  }
  bound_ = bind_runtime(library);
  std::string detail;
  if (!frame.missing.empty()) detail = "lacks " + join(frame.missing, ", ");
  if (in_others > 0) {
    if (!detail.empty()) detail += "; ";
    detail += count_of(in_others, "name");
    detail += " resolved elsewhere";
  }
  frames_.send(std::move(frame));
  return detail.empty() ? passed() : wrong(std::move(detail));
}

StageAnswer CandidateSession::ask_versions() {
  Frame frame;
  frame.kind = FrameKind::versions;
  const CudaStatus runtime = {bound_.api.runtime_get_version(&frame.runtime_version),
                              "cudaRuntimeGetVersion"};
  const CudaStatus driver = {bound_.api.driver_get_version(&frame.driver_version),
                             "cudaDriverGetVersion"};
  frames_.send(std::move(frame));
  if (!runtime.ok()) return failed(runtime);
  return driver.ok() ? passed() : failed(driver);
}

StageAnswer CandidateSession::ask_devices() {
  int count = 0;
  const CudaStatus status = {bound_.api.get_device_count(&count), "cudaGetDeviceCount"};
  if (!status.ok()) return failed(status);
  if (count < 1) return wrong("no device is visible");
  std::vector<std::string> absent;
  if (order_.devices.empty()) {
    for (int device = 0; device < count; ++device) devices_.push_back(device);
  }
  for (const int device : order_.devices) {
    if (device >= 0 && device < count) {
      devices_.push_back(device);
    } else {
      absent.push_back(std::to_string(device));
    }
  }
  const std::string visible = count_of(static_cast<std::uint64_t>(count), "visible device");
  if (absent.empty()) return passed(visible);
  return wrong(visible + "; " + std::string(kNoSuchDevice) + join(absent, ", "));
}

bool CandidateSession::count_devices() {
  // The count is asked for in any case: its code says more than a version that failed.
  frames_.run(Stage::versions, {}, [&] { return ask_versions(); });
  const StageAnswer counted = frames_.run(Stage::devices, {}, [&] { return ask_devices(); });
  if (!devices_.empty()) return true;
  return note(counted, "devices");
}

bool CandidateSession::make_context(int device) {
  const StageAnswer made = frames_.run(Stage::context, {.device = device}, [&] {
    const CudaStatus set = {bound_.api.set_device(device), "cudaSetDevice"};
    if (!set.ok()) return failed(set);
    // Makes the primary context in every release.
    const CudaStatus freed = {bound_.api.free(nullptr), "cudaFree"};
    return freed.ok() ? passed() : failed(freed);
  });
  if (made.ok()) contexts_.insert(device);
  return made.ok();
}

MhcOps& CandidateSession::ops(int device) {
  auto& ops = ops_[device];
  if (!ops) ops = std::make_unique<MhcOps>(*launcher_);
  return *ops;
}

}  // namespace cudart_doctor
