// Messages over SOCK_SEQPACKET, which keeps their borders.
#include "peer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <type_traits>

namespace cudart_doctor {
namespace {

static_assert(std::is_trivially_copyable_v<PeerMessage>);

template <std::size_t Size>
void put_text(char (&to)[Size], std::string_view text) {
  const std::size_t count = std::min(text.size(), Size - 1);
  std::copy_n(text.begin(), count, to);
  to[count] = '\0';
}

/// Control data with room for one descriptor.
union DescriptorControl {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

UniqueFd take_descriptor(msghdr& header) {
  UniqueFd out;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof fd);
    out = UniqueFd(fd);
  }
  return out;
}

}  // namespace

PeerMessage make_message(PeerKind kind, std::uint32_t runtime, Place place) {
  PeerMessage message;
  message.kind = kind;
  message.runtime = runtime;
  message.device = place.device;
  message.peer_device = place.peer_device;
  return message;
}

void put_answer(PeerMessage& message, const StageAnswer& answer) {
  message.outcome = answer.outcome;
  message.has_code = answer.code ? 1 : 0;
  message.code = answer.code.value_or(0);
  put_text(message.call, answer.call);
  put_text(message.text, answer.detail);
}

StageAnswer take_answer(const PeerMessage& message) {
  return {.outcome = message.outcome,
          .code = message.has_code != 0 ? std::optional<int>(message.code) : std::nullopt,
          .call = message.call,
          .detail = message.text};
}

bool Peer::send(const PeerMessage& message, int descriptor) {
  if (!connected()) return false;
  // sendmsg reads only; its structures have no const form.
  iovec part = {const_cast<PeerMessage*>(&message), sizeof message};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  DescriptorControl control = {};
  if (descriptor >= 0) {
    header.msg_control = control.bytes.data();
    header.msg_controllen = control.bytes.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  ssize_t count = 0;
  do {
    count = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(sizeof message)) return true;
  socket_.reset();
  return false;
}

std::optional<PeerReceived> Peer::receive() {
  if (!connected()) return std::nullopt;
  PeerReceived received;
  iovec part = {&received.message, sizeof received.message};
  msghdr header = {};
  DescriptorControl control = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  PeerMessage& message = received.message;
  // The other one runs foreign code: nothing in it is taken for granted.
  if (count != static_cast<ssize_t>(sizeof message) || message.kind > PeerKind::answer ||
      message.outcome > StageOutcome::begun) {
    socket_.reset();
    return std::nullopt;
  }
  message.call[sizeof message.call - 1] = '\0';
  message.text[sizeof message.text - 1] = '\0';
  received.descriptor = take_descriptor(header);
  return received;
}

std::optional<PeerMessage> Peer::ask(const PeerMessage& message, int descriptor) {
  if (!send(message, descriptor)) return std::nullopt;
  const auto received = receive();
  if (!received) return std::nullopt;
  if (received->message.kind != PeerKind::answer || received->message.runtime != message.runtime) {
    socket_.reset();
    return std::nullopt;
  }
  return received->message;
}

}  // namespace cudart_doctor
