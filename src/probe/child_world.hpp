// What a probe child holds for its whole life, whatever candidate is being served.
#pragma once

#include <optional>
#include <string>

#include "child_frames.hpp"
#include "cudart_doctor/cuda/driver_api.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "peer.hpp"
#include "post_sample.hpp"

namespace cudart_doctor {

/// libcuda, opened once, after a candidate made its first call.
class DriverSession {
 public:
  /// The driver, initialised; null where that fails: error() says why.
  const DriverApi* use();
  /// The driver as it lies there, uninitialised: for its path.
  const DriverApi* look();
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::optional<Result<DriverApi>> opened_;
  bool initialised_ = false;
  std::string error_;
};

struct ChildWorld {
  const FrameOut& out;
  const ProbeOrder& order;
  Peer& peer;
  DriverSession driver;
  PostSample sample;
};

}  // namespace cudart_doctor
