// The launcher's end of the recorder's socket: packets in, answers out. Never blocks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// Names a connection; never used twice.
using ConnectionId = std::uint64_t;

struct RecorderPacket {
  ConnectionId connection = 0;
  pid_t pid = 0;  ///< Of the process that connected, in the launcher's PID namespace; the kernel's
                  ///< word (SO_PEERCRED), not the packet's.
  std::string bytes;  ///< At most kMaxRecord.
};

class RecorderChannel {
 public:
  /// `listener` as RecorderFiles::listener; has to outlive this.
  explicit RecorderChannel(int listener) : listener_(listener) {}

  using Time = std::chrono::steady_clock::time_point;
  /// Descriptors to poll for reading.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Accepts what waits and reads what is there. Connections that sent more than the protocol
  /// allows, or that ended, are closed; so are those that were silent for long and are not kept
  /// waiting, the oldest first where there are many: their recorders connect again.
  std::vector<RecorderPacket> take();
  /// The `sync` of a connection is answered later: until then, and at most to `end`, tend() tells
  /// it each second that it is not forgotten.
  void keep_waiting(ConnectionId connection, Time end);
  void tend();
  /// When tend() is to be called.
  [[nodiscard]] std::optional<Time> due() const;
  /// Answers the `sync` of a connection and closes it; one that is gone is no error.
  void answer(ConnectionId connection, char byte);

 private:
  struct Peer {
    UniqueFd fd;
    pid_t pid = 0;
    Time heard;                 ///< Or when it came.
    std::optional<Time> waits;  ///< Until when it is told so.
    Time next_word;
    bool silent = false;  ///< The last read found nothing.
  };
  using Packets = std::vector<RecorderPacket>;
  void accept_peers();
  /// False where the peer is gone, or does not keep to the protocol.
  static bool read_peer(ConnectionId id, Peer& peer, Packets& packets);
  /// Closes who is silent: for long, or where there are many.
  void thin_out(Packets& packets);
  int listener_;
  ConnectionId next_ = 1;
  std::map<ConnectionId, Peer> peers_;
};

}  // namespace cudart_doctor
