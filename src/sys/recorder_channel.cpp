#include "cudart_doctor/sys/recorder_channel.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "cudart_doctor/formats/recorder_limits.hpp"

namespace cudart_doctor {
namespace {

/// Connections at one time; more wait in the kernel.
constexpr std::size_t kMaxPeers = 512;
/// Of one connection in one call, so that none starves the others.
constexpr std::size_t kMaxPackets = 64;
/// Of one process; of more, the oldest that are silent are closed. A process has one at a time, but
/// its forks may hold it.
constexpr std::size_t kMaxOfProcess = 64;
/// A recorder says what it has to say and closes; its forks may keep the connection.
constexpr std::chrono::seconds kLongestSilence{10};
constexpr std::chrono::seconds kBetweenWords{1};

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
  const auto buffer = std::make_unique_for_overwrite<std::array<char, kMaxRecord + 1>>();
  ssize_t size = 0;
  do {
    size = ::recv(fd, buffer->data(), buffer->size(), MSG_DONTWAIT);
    // A reset is told once, before the packets that were sent ahead of it.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size < 0) return {errno == EAGAIN ? Read::nothing : Read::end, {}};
  const auto count = static_cast<std::size_t>(size);
  if (count == 0 || count > kMaxRecord) return {};
  return {Read::packet, std::string(buffer->data(), count)};
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
    Peer peer;
    peer.fd = std::move(fd);
    peer.pid = pid;
    peer.heard = std::chrono::steady_clock::now();
    peers_.emplace(next_++, std::move(peer));
  }
}

bool RecorderChannel::read_peer(ConnectionId id, Peer& peer, Packets& packets) {
  for (std::size_t i = 0; i < kMaxPackets; ++i) {
    auto received = receive(peer.fd.get());
    if (received.what == Read::end) return false;
    peer.silent = received.what == Read::nothing;
    if (peer.silent) break;
    peer.heard = std::chrono::steady_clock::now();
    packets.push_back({id, peer.pid, std::move(received.bytes)});
  }
  return true;
}

void RecorderChannel::thin_out(Packets& packets) {
  const auto limit = std::chrono::steady_clock::now() - kLongestSilence;
  std::map<pid_t, std::size_t> count;
  for (const auto& [id, peer] : peers_) ++count[peer.pid];
  std::size_t left = peers_.size();
  for (auto at = peers_.begin(); at != peers_.end();) {
    Peer& peer = at->second;
    const bool many = count[peer.pid] > kMaxOfProcess || left >= kMaxPeers;
    if (!peer.silent || peer.waits || (peer.heard >= limit && !many)) {
      ++at;
      continue;
    }
    // What is sent in this moment arrives, or fails and is sent again.
    ::shutdown(peer.fd.get(), SHUT_RDWR);
    read_peer(at->first, peer, packets);
    --count[peer.pid];
    --left;
    at = peers_.erase(at);
  }
}

std::vector<RecorderPacket> RecorderChannel::take() {
  accept_peers();
  Packets packets;
  for (auto peer = peers_.begin(); peer != peers_.end();) {
    const bool lives = read_peer(peer->first, peer->second, packets);
    peer = lives ? std::next(peer) : peers_.erase(peer);
  }
  thin_out(packets);
  return packets;
}

void RecorderChannel::keep_waiting(ConnectionId connection, Time end) {
  const auto peer = peers_.find(connection);
  if (peer == peers_.end()) return;
  peer->second.waits = end;
  peer->second.next_word = {};
  tend();
}

void RecorderChannel::tend() {
  const auto now = std::chrono::steady_clock::now();
  for (auto& [id, peer] : peers_) {
    if (!peer.waits || now > *peer.waits || now < peer.next_word) continue;
    // A peer that reads nothing is left to itself.
    (void)::send(peer.fd.get(), &kWait, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    peer.next_word = now + kBetweenWords;
  }
}

std::optional<RecorderChannel::Time> RecorderChannel::due() const {
  const auto now = std::chrono::steady_clock::now();
  std::optional<Time> first;
  for (const auto& [id, peer] : peers_) {
    if (!peer.waits || std::max(now, peer.next_word) > *peer.waits) continue;
    first = std::min(first.value_or(peer.next_word), peer.next_word);
  }
  return first;
}

void RecorderChannel::answer(ConnectionId connection, char byte) {
  const auto peer = peers_.find(connection);
  if (peer == peers_.end()) return;
  // One byte fits, or the process is gone.
  (void)::send(peer->second.fd.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  peers_.erase(peer);
}

}  // namespace cudart_doctor
