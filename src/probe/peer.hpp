// What exporter and importer say to each other: messages of one fixed layout, a descriptor with
// some. The importer serves; the exporter asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "child_frames.hpp"
#include "cudart_doctor/cuda/abi.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

enum class PeerKind : std::uint32_t {
  ready,       ///< Importer: its own stages of this runtime are over; outcome.
  memory,      ///< Open this handle, compute there.
  event,       ///< Open this event handle.
  recorded,    ///< The event was recorded: wait for it, then look at the data.
  close,       ///< Close both.
  vmm_socket,  ///< Import the descriptor that comes with this.
  vmm_pidfd,   ///< Fetch `descriptor` from `process`, then import it.
  skip,        ///< No round trip on this place: `text` says why.
  next,        ///< On to the next runtime.
  answer,      ///< Importer: how it went.
};

/// Fixed layout; texts end with NUL.
struct PeerMessage {
  PeerKind kind = PeerKind::answer;
  std::uint32_t runtime = 0;
  std::uint32_t round = 0;  ///< 1, 2
  std::int32_t device = -1;
  std::int32_t peer_device = -1;
  StageOutcome outcome = StageOutcome::pass;
  std::uint8_t has_code = 0;
  std::int32_t code = 0;
  std::int32_t error = 0;  ///< errno
  std::int32_t process = 0;
  std::int32_t descriptor = -1;
  std::uint64_t offset = 0;  ///< Of the sample in the allocation.
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;
  cuda_abi::IpcHandle handle = {};
  char call[64] = {};
  char text[512] = {};
};

PeerMessage make_message(PeerKind kind, std::uint32_t runtime, Place place);
/// An answer's outcome, code, call and text.
void put_answer(PeerMessage& message, const StageAnswer& answer);
StageAnswer take_answer(const PeerMessage& message);

struct PeerReceived {
  PeerMessage message;
  UniqueFd descriptor;
};

class Peer {
 public:
  Peer() = default;
  explicit Peer(UniqueFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] bool connected() const { return socket_.valid(); }
  /// False when the other one is gone; it is not connected any more then.
  bool send(const PeerMessage& message, int descriptor = -1);
  /// Waits as long as it takes: the runner watches the time. Nothing when the other one is gone or
  /// sent something else than messages.
  std::optional<PeerReceived> receive();
  /// Sends and waits for the answer.
  std::optional<PeerMessage> ask(const PeerMessage& message, int descriptor = -1);

 private:
  UniqueFd socket_;
};

}  // namespace cudart_doctor
