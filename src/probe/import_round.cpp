// Opens what the exporter shared, computes in it, waits for its event, closes.
#include "import_round.hpp"

#include <span>

namespace cudart_doctor {

ImportRound::ImportRound(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
                         const PeerMessage& memory)
    : world_(world),
      session_(session),
      memory_(memory),
      stages_(frames, {.device = memory.device, .peer_device = memory.peer_device}, memory.round) {}

int ImportRound::device() const {
  return memory_.peer_device >= 0 ? memory_.peer_device : memory_.device;
}

DevicePointer ImportRound::sample() const { return to_address(buffer_) + memory_.offset; }

StageAnswer ImportRound::open_memory() {
  if (!session_.has_context(device())) {
    const StageAnswer none = skipped("context failed");
    stages_.skip(Stage::ipc_import, none.detail);
    stages_.skip(Stage::ipc_compute, none.detail);
    return none;
  }
  StageAnswer answer = stages_.run(Stage::ipc_import, [&] { return import(); });
  if (!answer.ok()) {
    stages_.skip(Stage::ipc_compute, "the import failed");
    return answer;
  }
  return stages_.run(Stage::ipc_compute, [&] { return compute(); });
}

StageAnswer ImportRound::import() {
  const RuntimeApi& api = session_.api();
  const CudaStatus set = {api.set_device(device()), "cudaSetDevice"};
  if (!set.ok()) return failed(set);
  const CudaStatus opened = {
      api.ipc_open_mem_handle(&buffer_, memory_.handle, cuda_abi::kIpcMemLazyEnablePeerAccess),
      "cudaIpcOpenMemHandle"};
  if (!opened.ok()) {
    buffer_ = nullptr;
    return failed(opened);
  }
  // A handle can open without an error and lead to other memory: look before writing there.
  std::uint64_t mark = 0;
  const CudaStatus read = session_.memory().download(std::as_writable_bytes(std::span(&mark, 1)),
                                                     sample() + SampleLayout::kMark);
  if (!read.ok()) return failed(read);
  return mark == memory_.token ? passed() : wrong("buffer does not hold what the exporter wrote");
}

StageAnswer ImportRound::compute() {
  const CudaStatus launched = session_.ops(device()).mhc_post(PostSample::arguments(sample()));
  if (!launched.ok()) return failed(launched);
  const std::uint64_t token = ~memory_.token;
  const CudaStatus written = session_.memory().upload(sample() + SampleLayout::kToken,
                                                      std::as_bytes(std::span(&token, 1)));
  if (!written.ok()) return failed(written);
  const CudaStatus done = session_.memory().synchronize();
  return done.ok() ? passed() : failed(done);
}

StageAnswer ImportRound::open_event(const PeerMessage& message) {
  stages_.begin(Stage::ipc_event);
  event_open_ = true;
  const CudaStatus opened = {session_.api().ipc_open_event_handle(&event_, message.handle),
                             "cudaIpcOpenEventHandle"};
  if (opened.ok()) return passed();
  event_ = nullptr;
  event_open_ = false;
  StageAnswer answer = failed(opened);
  stages_.end(Stage::ipc_event, answer);
  return answer;
}

StageAnswer ImportRound::wait_event() {
  StageAnswer answer = event_open_ ? wait_and_look() : skipped("no event is open");
  if (event_open_) stages_.end(Stage::ipc_event, answer);
  event_open_ = false;
  return answer;
}

StageAnswer ImportRound::wait_and_look() {
  const RuntimeApi& api = session_.api();
  const CudaStatus ordered = {api.stream_wait_event(nullptr, event_, 0), "cudaStreamWaitEvent"};
  if (!ordered.ok()) return failed(ordered);
  SampleVerdict verdict;
  const CudaStatus fetched = world_.sample.fetch(session_.memory(), sample(), verdict);
  if (!fetched.ok()) return failed(fetched);
  const CudaStatus waited = {api.event_synchronize(event_), "cudaEventSynchronize"};
  if (!waited.ok()) return failed(waited);
  return verdict.right ? passed() : wrong("data was not there after the event: " + verdict.text);
}

StageAnswer ImportRound::close() {
  if (event_open_) stages_.skip(Stage::ipc_event, "the exporter's event failed");
  event_open_ = false;
  StageAnswer answer = passed();
  if (buffer_ != nullptr || event_ != nullptr) {
    answer = stages_.run(Stage::ipc_close, [&] { return release(); });
  }
  stages_.finish();
  return answer;
}

StageAnswer ImportRound::release() {
  const RuntimeApi& api = session_.api();
  const CudaStatus destroyed = {event_ != nullptr ? api.event_destroy(event_) : 0,
                                "cudaEventDestroy"};
  const CudaStatus closed = {buffer_ != nullptr ? api.ipc_close_mem_handle(buffer_) : 0,
                             "cudaIpcCloseMemHandle"};
  if (!destroyed.ok()) return failed(destroyed);
  return closed.ok() ? passed() : failed(closed);
}

}  // namespace cudart_doctor
