// Loads each candidate, makes its contexts while the exporter makes its own, then serves.
#include "importer.hpp"

#include <optional>

#include "candidate_session.hpp"
#include "import_round.hpp"
#include "import_vmm.hpp"

namespace cudart_doctor {
namespace {

void skip_import(const StageFrames& frames, Place place, std::string_view reason) {
  frames.skip(Stage::ipc_import, place, reason);
  frames.skip(Stage::ipc_compute, place, reason);
}

class Importer {
 public:
  Importer(ChildWorld& world, const StageFrames& frames, CandidateSession& session)
      : world_(world), frames_(frames), session_(session) {}

  /// Serves until the exporter goes on to its next runtime, or is gone. `ready`: whether a round
  /// trip is possible here; where it is not, that was said.
  void serve(StageOutcome ready) {
    served_ = ready != StageOutcome::pass;
    while (auto received = world_.peer.receive()) {
      const PeerMessage& message = received->message;
      if (message.kind == PeerKind::next) {
        if (!served_ && *message.text != '\0') skip_import(frames_, {}, message.text);
        return;
      }
      served_ = true;
      PeerMessage answer = make_message(PeerKind::answer, frames_.runtime(), place_of(message));
      if (message.kind == PeerKind::vmm_socket || message.kind == PeerKind::vmm_pidfd) {
        answer = import_vmm(world_, *received);
      } else {
        put_answer(answer, handle(message));
      }
      if (!world_.peer.send(answer)) return;
    }
    if (!served_) skip_import(frames_, {}, "the exporter ended");
  }

 private:
  static Place place_of(const PeerMessage& message) {
    return {.device = message.device, .peer_device = message.peer_device};
  }

  StageAnswer handle(const PeerMessage& message) {
    if (message.kind == PeerKind::skip) {
      // In a later round its own stage stands for all.
      if (message.round <= 1) skip_import(frames_, place_of(message), message.text);
      if (message.round > 1) frames_.skip(Stage::ipc_again, place_of(message), message.text);
      return passed();
    }
    if (message.kind == PeerKind::memory) {
      round_.emplace(world_, session_, frames_, message);
      return round_->open_memory();
    }
    if (!round_) return wrong("no round is open");
    if (message.kind == PeerKind::event) return round_->open_event(message);
    if (message.kind == PeerKind::recorded) return round_->wait_event();
    if (message.kind != PeerKind::close) return wrong("message not understood");
    StageAnswer closed = round_->close();
    round_.reset();
    return closed;
  }

  ChildWorld& world_;
  const StageFrames& frames_;
  CandidateSession& session_;
  std::optional<ImportRound> round_;
  bool served_ = false;  ///< The stages of the round trip were told, one way or the other.
};

void serve_runtime(ChildWorld& world, const OrderedRuntime& runtime) {
  // Look-alikes are asked for symbols only, and one process is enough for that.
  if (runtime.symbols_only) return;
  const StageFrames frames(world.out, ProbeSide::importer, runtime.index);
  CandidateSession session(frames, world.order);
  const bool counted = session.load(runtime) && session.count_devices();
  if (counted) {
    for (const int device : session.devices()) {
      // The image is loaded while the exporter is busy; how that ended, the first launch tells.
      if (session.make_context(device)) (void)session.launcher().bind();
    }
  } else {
    skip_import(frames, {}, session.why_not());
  }
  PeerMessage ready = make_message(PeerKind::ready, frames.runtime(), {});
  put_answer(ready, counted ? passed() : wrong(session.why_not()));
  (void)world.peer.send(ready);
  Importer(world, frames, session).serve(ready.outcome);
}

}  // namespace

void run_importer(ChildWorld& world) {
  for (const OrderedRuntime& runtime : world.order.runtimes) serve_runtime(world, runtime);
}

}  // namespace cudart_doctor
