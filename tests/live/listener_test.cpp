// The process behind a TCP port.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "cudart_doctor/collect/capture.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

/// A loopback socket on a port that the kernel chooses.
struct Loopback {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::uint16_t port = 0;
  Loopback() {
    sockaddr_storage storage = {};
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::memcpy(&storage, &address, sizeof address);
    socklen_t size = sizeof address;
    auto* generic = static_cast<sockaddr*>(static_cast<void*>(&storage));
    REQUIRE(::bind(fd, generic, size) == 0);
    REQUIRE(::getsockname(fd, generic, &size) == 0);
    std::memcpy(&address, &storage, sizeof address);
    port = ntohs(address.sin_port);
  }
  ~Loopback() { ::close(fd); }
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;
};

}  // namespace

TEST_CASE("the process that listens on a port is found") {
  Loopback socket;
  REQUIRE(::listen(socket.fd, 1) == 0);
  auto owner = find_listener(socket.port, "/proc");
  REQUIRE(owner);
  CHECK(owner->pid == ::getpid());
  CHECK(owner->also.empty());
}

TEST_CASE("of several holders of a socket the one that started first is the owner") {
  Loopback socket;
  REQUIRE(::listen(socket.fd, 1) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    while (true) ::pause();
  }
  auto owner = find_listener(socket.port, "/proc");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  REQUIRE(owner);
  CHECK(owner->pid == ::getpid());
  CHECK(owner->also == std::vector<std::int64_t>{child});
}

TEST_CASE("a port without a listener is not found, and the search is described") {
  Loopback socket;  // Bound, but not listening.
  auto owner = find_listener(socket.port, "/proc");
  REQUIRE_FALSE(owner);
  CHECK(owner.error().kind == ErrorKind::not_found);
  CHECK_THAT(owner.error().message, ContainsSubstring("nothing listens on TCP port"));
  CHECK_THAT(owner.error().message, ContainsSubstring("network namespace"));
}
