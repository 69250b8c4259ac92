// The launcher's end of the recorder's socket: packets in, answers out. Never blocks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
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

  /// Descriptors to poll for reading.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Accepts what waits and reads what is there. Connections that sent more than the protocol
  /// allows, or that ended, are closed.
  std::vector<RecorderPacket> take();
  /// Answers the `sync` of a connection and closes it; one that is gone is no error.
  void answer(ConnectionId connection, char byte);

 private:
  struct Peer {
    UniqueFd fd;
    pid_t pid = 0;
  };
  void accept_peers();
  int listener_;
  ConnectionId next_ = 1;
  std::map<ConnectionId, Peer> peers_;
};

}  // namespace cudart_doctor
