// Candidates in turn, then devices, then pairs of devices; the checks that concern the driver once
// for all candidates.
#include "exporter.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "device_checks.hpp"
#include "export_round.hpp"
#include "mechanisms.hpp"

namespace cudart_doctor {
namespace {

class Exporter {
 public:
  explicit Exporter(ChildWorld& world) : world_(world) {}

  void serve(const OrderedRuntime& runtime) {
    const StageFrames frames(world_.out, ProbeSide::exporter, runtime.index);
    CandidateSession session(frames, world_.order);
    const bool loaded = session.load(runtime);
    if (runtime.symbols_only) return;
    importer_.reset();
    const bool counted = loaded && session.count_devices();
    tell_driver(frames, counted ? session.devices() : std::vector<int>());
    if (counted) {
      for (const int device : session.devices()) probe_device(session, frames, device);
      if (world_.order.all_pairs) probe_pairs(session, frames);
    } else {
      skip_all(frames, session.why_not());
    }
    if (!world_.peer.connected()) return;
    (void)importer_refusal(frames);
    PeerMessage next = make_message(PeerKind::next, frames.runtime(), {});
    if (!counted) put_answer(next, skipped("the exporter's " + session.why_not()));
    (void)world_.peer.send(next);
  }

 private:
  void tell_driver(const StageFrames& frames, const std::vector<int>& devices) {
    const DriverApi* seen = world_.driver.look();
    if (seen != nullptr && !driver_told_) {
      driver_told_ = true;
      Frame frame;
      frame.kind = FrameKind::driver;
      frame.driver = describe_driver(*seen);
      frames.send(std::move(frame));
    }
    const DriverApi* api = devices.empty() ? nullptr : world_.driver.use();
    if (api == nullptr) return;
    for (const int device : devices) {
      if (!devices_told_.insert(device).second) continue;
      Frame frame;
      frame.kind = FrameKind::device;
      frame.device = describe_device(*api, device);
      frames.send(std::move(frame));
    }
  }

  /// Told again: which image ran, and what is free beside our own context.
  void tell_image(const StageFrames& frames, CandidateSession& session, int device) {
    const DriverApi* api = world_.driver.use();
    if (api == nullptr || !images_told_.insert(device).second) return;
    Frame frame;
    frame.kind = FrameKind::device;
    frame.device = describe_device(*api, device);
    frame.device.image = session.launcher().image();
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (session.api().mem_get_info(&free_bytes, &total) == 0) frame.device.free_bytes = free_bytes;
    frames.send(std::move(frame));
  }

  /// "" when the importer is ready for this runtime. Waits for its own stages the first time.
  std::string importer_refusal(const StageFrames& frames) {
    if (!importer_) {
      importer_ = std::string(kImporterGone);
      if (const auto received = world_.peer.receive();
          received && received->message.kind == PeerKind::ready &&
          received->message.runtime == frames.runtime()) {
        const StageAnswer ready = take_answer(received->message);
        importer_ = ready.ok() ? std::string() : "the importer's " + ready.detail;
      }
    }
    return *importer_;
  }

  static void skip_all(const StageFrames& frames, std::string_view reason) {
    for (const Stage stage :
         {Stage::context, Stage::memory, Stage::kernels, Stage::ipc_export, Stage::ipc_verify,
          Stage::ipc_event, Stage::ipc_close, Stage::ipc_again}) {
      frames.skip(stage, {}, reason);
    }
  }

  void probe_device(CandidateSession& session, const StageFrames& frames, int device) {
    const Place place = {.device = device};
    std::string stop;
    if (!session.make_context(device)) {
      stop = "context failed";
      frames.skip(Stage::memory, place, stop);
      frames.skip(Stage::kernels, place, stop);
    } else {
      const auto memory =
          frames.run(Stage::memory, place, [&] { return check_memory(session.memory()); });
      const auto kernels =
          frames.run(Stage::kernels, place, [&] { return check_kernels(session, device); });
      if (kernels.ok()) tell_image(frames, session, device);
      if (!memory.ok()) stop = "memory failed";
      if (memory.ok() && !kernels.ok()) stop = "kernels failed";
    }
    // The control matters most where the candidate's own launch failed.
    const bool driver_checks = world_.order.driver_checks && session.has_context(device) &&
                               driver_checked_.insert(device).second;
    if (driver_checks) {
      frames.run(Stage::control, place, [&] { return check_control(world_); });
      compile_ptx(frames, place);
    }
    const RoundResult legacy = round_trips(session, frames, {place, stop});
    if (driver_checks) check_mechanisms(world_, session, frames, {device, &legacy});
  }

  /// Once for each kind of device: it is the longest of all checks, and its result the same.
  void compile_ptx(const StageFrames& frames, Place place) {
    const DriverApi* api = world_.driver.use();
    const ProbeDevice device = api != nullptr ? describe_device(*api, place.device) : ProbeDevice{};
    const auto [known, added] =
        compiled_.try_emplace({device.capability_major, device.capability_minor}, place.device);
    if (added) {
      frames.run(Stage::ptx, place, [&] { return check_ptx(world_); });
    } else {
      frames.skip(Stage::ptx, place, "as on device " + std::to_string(known->second));
    }
  }

  RoundResult round_trips(CandidateSession& session, const StageFrames& frames,
                          const std::pair<Place, std::string>& where) {
    const Place place = where.first;
    const std::string stop = where.second.empty() ? world_.order.no_ipc : where.second;
    std::string reason = stop;
    if (!world_.peer.connected()) {
      if (reason.empty()) reason = "there is no importer";
    } else if (const std::string refusal = importer_refusal(frames); !refusal.empty()) {
      if (reason.empty()) reason = refusal;
    } else if (!stop.empty()) {
      PeerMessage message = make_message(PeerKind::skip, frames.runtime(), place);
      put_answer(message, skipped("the exporter's " + stop));
      (void)world_.peer.ask(message);
    }
    if (!reason.empty()) {
      skip_round(frames, place, reason);
      return {.memory = skipped(reason), .event = skipped(reason)};
    }
    const RoundResult first = export_round(world_, session, frames, {place, 1});
    // Between two devices one round is enough: the handles' second life was tried on each.
    if (place.peer_device >= 0) return first;
    if (first.memory.ok()) {
      export_round(world_, session, frames, {place, 2});
    } else {
      frames.skip(Stage::ipc_again, place, "the first round trip failed");
    }
    return first;
  }

  void probe_pairs(CandidateSession& session, const StageFrames& frames) {
    for (const int device : session.devices()) {
      for (const int peer : session.devices()) {
        if (device == peer || !session.has_context(device) || !session.has_context(peer)) continue;
        const Place place = {.device = device, .peer_device = peer};
        frames.run(Stage::peer_access, place, [&] { return check_peer_copy(session, place); });
        round_trips(session, frames, {place, ""});
      }
    }
  }

  ChildWorld& world_;
  std::optional<std::string> importer_;  ///< Why it cannot serve; "": it can; nothing: not heard.
  bool driver_told_ = false;
  std::set<int> devices_told_;
  std::set<int> images_told_;
  std::set<int> driver_checked_;
  std::map<std::pair<int, int>, int> compiled_;  ///< Capability, the device that stands for it.
};

}  // namespace

void run_exporter(ChildWorld& world) {
  Exporter exporter(world);
  for (const OrderedRuntime& runtime : world.order.runtimes) exporter.serve(runtime);
}

}  // namespace cudart_doctor
