#include "cudart_doctor/sys/recorder_channel.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "cudart_doctor/formats/recorder_limits.hpp"

namespace cudart_doctor {
namespace {

/// Connections at one time; more wait in the kernel.
constexpr std::size_t kMaxPeers = 512;
/// Of one connection in one call, so that none starves the others.
constexpr std::size_t kMaxPackets = 64;

pid_t peer_pid(int fd) {
  ucred who{};
  socklen_t size = sizeof who;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid : 0;
}

enum class Read : std::uint8_t { packet, nothing, end };

/// What recv() gave, and its bytes.
struct Received {
  Read what = Read::end;
  std::string bytes;
};

Received receive(int fd) {
  // One more than is allowed: a longer packet is seen to be too long.
  static_assert(kMaxRecord < UINT32_MAX);
  std::array<char, kMaxRecord + 1> buffer;  // NOLINT(*-member-init): recv fills what is used of it
  ssize_t size = 0;
  do {
    size = ::recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size < 0) return {errno == EAGAIN ? Read::nothing : Read::end, {}};
  const auto count = static_cast<std::size_t>(size);
  if (count == 0 || count > kMaxRecord) return {};
  return {Read::packet, std::string(buffer.data(), count)};
}

}  // namespace

std::vector<int> RecorderChannel::descriptors() const {
  std::vector<int> out;
  out.reserve(peers_.size() + 1);
  if (peers_.size() < kMaxPeers) out.push_back(listener_);
  for (const auto& [id, peer] : peers_) out.push_back(peer.fd.get());
  return out;
}

void RecorderChannel::accept_peers() {
  while (peers_.size() < kMaxPeers) {
    UniqueFd fd(::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    const pid_t pid = peer_pid(fd.get());
    peers_.emplace(next_++, Peer{std::move(fd), pid});
  }
}

std::vector<RecorderPacket> RecorderChannel::take() {
  accept_peers();
  std::vector<RecorderPacket> packets;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    Read last = Read::packet;
    for (std::size_t i = 0; i < kMaxPackets && last == Read::packet; ++i) {
      auto received = receive(peer->second.fd.get());
      last = received.what;
      if (last != Read::packet) break;
      packets.push_back({peer->first, peer->second.pid, std::move(received.bytes)});
    }
    peer = last == Read::end ? peers_.erase(peer) : std::next(peer);
  }
  return packets;
}

void RecorderChannel::answer(ConnectionId connection, char byte) {
  const auto peer = peers_.find(connection);
  if (peer == peers_.end()) return;
  // One byte fits, or the process is gone.
  (void)::send(peer->second.fd.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  peers_.erase(peer);
}

}  // namespace cudart_doctor
