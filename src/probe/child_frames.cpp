// Frames onto the result descriptor.
#include "child_frames.hpp"

#include <unistd.h>

#include <cerrno>

namespace cudart_doctor {
namespace {

/// A frame has its limit; what a loader or a JIT compiler says has none.
constexpr std::size_t kMaxDetail = 4096;
/// Nobody reads the results: there is nothing left to do.
constexpr int kUnheard = 3;

}  // namespace

StageAnswer passed(std::string detail) {
  return {.outcome = StageOutcome::pass, .code = 0, .call = {}, .detail = std::move(detail)};
}

StageAnswer failed(const CudaStatus& status, std::string detail) {
  return {.outcome = StageOutcome::fail,
          .code = status.code,
          .call = std::string(status.call),
          .detail = std::move(detail)};
}

StageAnswer wrong(std::string detail) {
  return {.outcome = StageOutcome::fail, .code = {}, .call = {}, .detail = std::move(detail)};
}

StageAnswer skipped(std::string reason) {
  return {.outcome = StageOutcome::skipped, .code = {}, .call = {}, .detail = std::move(reason)};
}

std::string describe(const StageAnswer& answer) {
  if (answer.call.empty() || !answer.code || *answer.code == 0) return answer.detail;
  const std::string text = answer.call + " gave " + std::to_string(*answer.code);
  return answer.detail.empty() ? text : text + ": " + answer.detail;
}

void FrameOut::send(const Frame& frame) const {
  const std::string bytes = encode_frame(frame);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t count = ::write(fd_, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(kUnheard);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

void StageFrames::send(Frame frame) const {
  frame.runtime = runtime_;
  out_.send(frame);
}

void StageFrames::begin(Stage stage, Place place) const {
  Frame frame;
  frame.kind = FrameKind::begin;
  frame.stage = {.stage = stage,
                 .outcome = StageOutcome::begun,
                 .side = side_,
                 .device = place.device,
                 .peer_device = place.peer_device,
                 .code = {},
                 .call = {},
                 .detail = {}};
  send(std::move(frame));
}

void StageFrames::end(Stage stage, Place place, const StageAnswer& answer) const {
  Frame frame;
  frame.kind = FrameKind::end;
  frame.stage = {.stage = stage,
                 .outcome = answer.outcome,
                 .side = side_,
                 .device = place.device,
                 .peer_device = place.peer_device,
                 .code = answer.code,
                 .call = answer.call,
                 .detail = answer.detail.substr(0, kMaxDetail)};
  send(std::move(frame));
}

void StageFrames::skip(Stage stage, Place place, std::string_view reason) const {
  end(stage, place, skipped(std::string(reason)));
}

}  // namespace cudart_doctor
