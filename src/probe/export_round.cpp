// Exports a buffer, lets the importer compute in it, looks at what came back, shares an event,
// closes. The buffer lives until the importer has answered.
#include "export_round.hpp"

#include <array>
#include <cstring>
#include <span>

namespace cudart_doctor {
namespace {

/// In the allocation; the handle leads to its base.
constexpr std::size_t kSampleOffset = 4096;
constexpr std::size_t kShared = kSampleOffset + SampleLayout::kBytes;

/// Different for every round, so that an older buffer is not taken for this one.
std::uint64_t make_mark(std::uint32_t runtime, Place place, std::uint32_t round) {
  std::uint64_t mark = 0x6d48432d49504300;
  for (const auto part : {static_cast<std::uint64_t>(runtime), std::uint64_t{round},
                          static_cast<std::uint64_t>(place.device + 1),
                          static_cast<std::uint64_t>(place.peer_device + 1)}) {
    mark = (mark ^ part) * 0x9e3779b97f4a7c15U;
  }
  return mark;
}

class ExportRound {
 public:
  ExportRound(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
              std::pair<Place, std::uint32_t> where)
      : world_(world),
        session_(session),
        api_(session.api()),
        frames_(frames),
        round_(where.second),
        stages_(frames, where.first, where.second),
        mark_(make_mark(frames.runtime(), where.first, where.second)) {}

  RoundResult run() {
    RoundResult result;
    const StageAnswer exported = stages_.run(Stage::ipc_export, [&] { return export_memory(); });
    if (!exported.ok()) {
      result = {.memory = exported, .event = skipped("the export failed")};
      PeerMessage message = ask_for(PeerKind::skip);
      put_answer(message, skipped("the exporter's export failed"));
      (void)world_.peer.ask(message);
      stages_.skip(Stage::ipc_verify, "the export failed");
      stages_.skip(Stage::ipc_event, "the export failed");
    } else {
      result.memory = share_memory();
      result.event = share_event(result.memory);
      close_importer();
    }
    stages_.run(Stage::ipc_close, [&] { return release(); });
    stages_.finish();
    return result;
  }

 private:
  PeerMessage ask_for(PeerKind kind) {
    PeerMessage message = make_message(kind, frames_.runtime(), stages_.place());
    message.round = round_;
    return message;
  }

  [[nodiscard]] DevicePointer sample() const { return buffer_ + kSampleOffset; }

  StageAnswer export_memory() {
    const CudaStatus set = {api_.set_device(stages_.place().device), "cudaSetDevice"};
    if (!set.ok()) return failed(set);
    if (const auto status = session_.memory().allocate(kShared, buffer_); !status.ok()) {
      buffer_ = 0;
      return failed(status);
    }
    const CudaStatus prepared = world_.sample.prepare(session_.memory(), sample(), mark_);
    if (!prepared.ok()) return failed(prepared);
    const CudaStatus synchronized = session_.memory().synchronize();
    if (!synchronized.ok()) return failed(synchronized);
    const CudaStatus exported = {api_.ipc_get_mem_handle(&handle_, to_pointer(buffer_)),
                                 "cudaIpcGetMemHandle"};
    return exported.ok() ? passed() : failed(exported);
  }

  /// The importer's answer as the exporter's skip.
  static StageAnswer other_side(const std::optional<PeerMessage>& answer) {
    if (!answer) return skipped(std::string(kImporterGone));
    const StageAnswer theirs = take_answer(*answer);
    if (theirs.ok()) return passed();
    return skipped("the importer's " + describe(theirs));
  }

  StageAnswer share_memory() {
    PeerMessage message = ask_for(PeerKind::memory);
    message.handle = handle_;
    message.offset = kSampleOffset;
    message.bytes = kShared;
    message.token = mark_;
    const auto answer = world_.peer.ask(message);
    const StageAnswer theirs = other_side(answer);
    if (!theirs.ok()) {
      stages_.skip(Stage::ipc_verify, theirs.detail);
      return answer ? take_answer(*answer) : theirs;
    }
    return stages_.run(Stage::ipc_verify, [&] { return verify(); });
  }

  StageAnswer verify() {
    std::uint64_t token = 0;
    const auto bytes = std::as_writable_bytes(std::span(&token, 1));
    const CudaStatus read = session_.memory().download(bytes, sample() + SampleLayout::kToken);
    if (!read.ok()) return failed(read);
    if (token != ~mark_) return wrong("the importer's token is not in the buffer");
    SampleVerdict verdict;
    const CudaStatus fetched = world_.sample.fetch(session_.memory(), sample(), verdict);
    if (!fetched.ok()) return failed(fetched);
    return verdict.right ? passed(verdict.text) : wrong(verdict.text);
  }

  StageAnswer share_event(const StageAnswer& memory) {
    if (!memory.ok()) {
      stages_.skip(Stage::ipc_event, "the memory round trip failed");
      return skipped("the memory round trip failed");
    }
    stages_.begin(Stage::ipc_event);
    StageAnswer theirs;
    const StageAnswer answer = event_steps(theirs);
    stages_.end(Stage::ipc_event, answer);
    return theirs.ok() ? answer : theirs;
  }

  StageAnswer event_steps(StageAnswer& theirs) {
    const CudaStatus created = {
        api_.event_create_with_flags(&event_,
                                     cuda_abi::kEventInterprocess | cuda_abi::kEventDisableTiming),
        "cudaEventCreateWithFlags"};
    if (!created.ok()) return failed(created);
    PeerMessage message = ask_for(PeerKind::event);
    const CudaStatus exported = {api_.ipc_get_event_handle(&message.handle, event_),
                                 "cudaIpcGetEventHandle"};
    if (!exported.ok()) return failed(exported);
    const auto opened = world_.peer.ask(message);
    if (const StageAnswer other = other_side(opened); !other.ok()) {
      if (opened) theirs = take_answer(*opened);
      return other;
    }
    // Who reads before the event finds poison.
    const auto poisoned =
        session_.memory().fill(sample() + SampleLayout::kOut, kPoison, SampleLayout::kOutBytes);
    if (!poisoned.ok()) return failed(poisoned);
    if (const auto status = session_.memory().synchronize(); !status.ok()) return failed(status);
    const CudaStatus launched =
        session_.ops(stages_.place().device).mhc_post(PostSample::arguments(sample()));
    if (!launched.ok()) return failed(launched);
    const CudaStatus recorded = {api_.event_record(event_, nullptr), "cudaEventRecord"};
    if (!recorded.ok()) return failed(recorded);
    const auto waited = world_.peer.ask(ask_for(PeerKind::recorded));
    StageAnswer other = other_side(waited);
    if (!other.ok() && waited) theirs = take_answer(*waited);
    return other;
  }

  void close_importer() { (void)world_.peer.ask(ask_for(PeerKind::close)); }

  StageAnswer release() {
    const CudaStatus destroyed = {event_ != nullptr ? api_.event_destroy(event_) : 0,
                                  "cudaEventDestroy"};
    const CudaStatus freed = buffer_ != 0 ? session_.memory().release(buffer_) : CudaStatus{};
    if (!destroyed.ok()) return failed(destroyed);
    return freed.ok() ? passed() : failed(freed);
  }

  ChildWorld& world_;
  CandidateSession& session_;
  const RuntimeApi& api_;
  const StageFrames& frames_;
  std::uint32_t round_;
  RoundStages stages_;
  std::uint64_t mark_;
  DevicePointer buffer_ = 0;
  void* event_ = nullptr;
  cuda_abi::IpcHandle handle_ = {};
};

}  // namespace

RoundResult export_round(ChildWorld& world, CandidateSession& session, const StageFrames& frames,
                         std::pair<Place, std::uint32_t> where) {
  return ExportRound(world, session, frames, where).run();
}

void skip_round(const StageFrames& frames, Place place, std::string_view reason) {
  for (const Stage stage : {Stage::ipc_export, Stage::ipc_verify, Stage::ipc_event,
                            Stage::ipc_close, Stage::ipc_again}) {
    frames.skip(stage, place, reason);
  }
}

}  // namespace cudart_doctor
