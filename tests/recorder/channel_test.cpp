// The launcher's end of the socket, against peers that do not keep to the protocol.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cudart_doctor/formats/recorder_limits.hpp"
#include "cudart_doctor/sys/recorder_channel.hpp"
#include "cudart_doctor/sys/recorder_files.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

UniqueFd connect_to(const RecorderFiles& files) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = files.directory() + "/socket";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof address);
  const auto* const generic = static_cast<const sockaddr*>(static_cast<const void*>(&storage));
  REQUIRE(::connect(fd.get(), generic, sizeof address) == 0);
  return fd;
}

bool send_to(const UniqueFd& fd, const std::string& bytes) {
  return ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(bytes.size());
}

/// What the peer reads; nothing where the other end was closed.
std::string read_from(const UniqueFd& fd) {
  std::string bytes(8, '\0');
  const ssize_t size = ::recv(fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

bool is_closed(const UniqueFd& fd) {
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, MSG_DONTWAIT) == 0;
}

struct World {
  RecorderFiles files = *lay_recorder(recorder_places());
  RecorderChannel channel{files.listener()};
};

}  // namespace

TEST_CASE("packets come whole, in order, with the number of the process that connected") {
  World world;
  const UniqueFd peer = connect_to(world.files);
  REQUIRE(send_to(peer, "one"));
  REQUIRE(send_to(peer, "two"));
  const auto packets = world.channel.take();
  REQUIRE(packets.size() == 2);
  CHECK(packets[0].bytes == "one");
  CHECK(packets[1].bytes == "two");
  CHECK(packets[0].pid == ::getpid());
  CHECK(packets[0].connection == packets[1].connection);
  CHECK(world.channel.take().empty());
}

TEST_CASE("what was sent before the end is read") {
  World world;
  {
    const UniqueFd peer = connect_to(world.files);
    REQUIRE(send_to(peer, "last words"));
  }
  CHECK(world.channel.take().size() == 1);
  CHECK(world.channel.descriptors().size() == 1);
}

TEST_CASE("a packet of the largest size is taken, a larger one ends its connection") {
  World world;
  const UniqueFd good = connect_to(world.files);
  const UniqueFd bad = connect_to(world.files);
  REQUIRE(send_to(good, std::string(kMaxRecord, 'x')));
  REQUIRE(send_to(bad, std::string(kMaxRecord + 1, 'x')));
  const auto packets = world.channel.take();
  REQUIRE(packets.size() == 1);
  CHECK(packets[0].bytes.size() == kMaxRecord);
  CHECK(is_closed(bad));
  CHECK_FALSE(is_closed(good));
}

TEST_CASE("an answer goes to its connection only, and ends it") {
  World world;
  const UniqueFd first = connect_to(world.files);
  const UniqueFd second = connect_to(world.files);
  REQUIRE(send_to(second, "sync"));
  const auto packets = world.channel.take();
  REQUIRE(packets.size() == 1);
  world.channel.answer(packets[0].connection, kHold);
  CHECK(read_from(second) == "h");
  CHECK(is_closed(second));
  CHECK_FALSE(is_closed(first));
}

TEST_CASE("an answer to who is gone does nothing") {
  World world;
  UniqueFd peer = connect_to(world.files);
  REQUIRE(send_to(peer, "sync"));
  const auto packets = world.channel.take();
  peer.reset();
  world.channel.answer(packets.at(0).connection, kProceed);
  world.channel.answer(packets.at(0).connection, kProceed);
  world.channel.answer(9999, kProceed);
  CHECK(world.channel.take().empty());
}

TEST_CASE("who sends without end does not keep others from being heard") {
  World world;
  const UniqueFd loud = connect_to(world.files);
  const UniqueFd quiet = connect_to(world.files);
  while (send_to(loud, "noise")) {
  }
  REQUIRE(send_to(quiet, "word"));
  const auto packets = world.channel.take();
  CHECK(packets.back().bytes == "word");
  CHECK(packets.size() < 200);
}

TEST_CASE("who is kept waiting hears of it at once and is answered in the end") {
  World world;
  const UniqueFd peer = connect_to(world.files);
  REQUIRE(send_to(peer, "sync"));
  const auto packets = world.channel.take();
  CHECK_FALSE(world.channel.due());
  const auto now = std::chrono::steady_clock::now();
  world.channel.keep_waiting(packets.at(0).connection, now + std::chrono::minutes(1));
  REQUIRE(world.channel.due());
  CHECK(*world.channel.due() > now);
  world.channel.tend();  // Not yet again.
  world.channel.answer(packets.at(0).connection, kHold);
  CHECK(read_from(peer) == "w");
  CHECK(read_from(peer) == "h");
  CHECK_FALSE(world.channel.due());
}

TEST_CASE("nobody is told to wait behind the end of the wait") {
  World world;
  const UniqueFd peer = connect_to(world.files);
  REQUIRE(send_to(peer, "sync"));
  const auto packets = world.channel.take();
  world.channel.keep_waiting(packets.at(0).connection, std::chrono::steady_clock::now());
  CHECK_FALSE(world.channel.due());
}

TEST_CASE("a process with many silent connections does not keep others from being heard") {
  World world;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 600; ++i) {
    silent.push_back(connect_to(world.files));
    if (i % 50 == 0) world.channel.take();
  }
  const UniqueFd peer = connect_to(world.files);
  REQUIRE(send_to(peer, "word"));
  const auto packets = world.channel.take();
  REQUIRE(packets.size() == 1);
  CHECK(packets[0].bytes == "word");
  CHECK(is_closed(silent.front()));
  CHECK_FALSE(is_closed(silent.back()));
}

TEST_CASE("of many connections those that wait, or that have said something, are kept") {
  World world;
  const UniqueFd waiting = connect_to(world.files);
  REQUIRE(send_to(waiting, "sync"));
  const auto packets = world.channel.take();
  world.channel.keep_waiting(packets.at(0).connection,
                             std::chrono::steady_clock::now() + std::chrono::minutes(1));
  const UniqueFd loud = connect_to(world.files);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connect_to(world.files));
  REQUIRE(send_to(loud, "word"));
  const auto heard = world.channel.take();
  REQUIRE(heard.size() == 1);
  CHECK(heard[0].bytes == "word");
  CHECK(read_from(waiting) == "w");
  CHECK_FALSE(is_closed(waiting));
}

TEST_CASE("what was sent is read though its sender left an answer unread") {
  World world;
  {
    const UniqueFd peer = connect_to(world.files);
    REQUIRE(send_to(peer, "sync"));
    const auto packets = world.channel.take();
    world.channel.keep_waiting(packets.at(0).connection,
                               std::chrono::steady_clock::now() + std::chrono::minutes(1));
    REQUIRE(send_to(peer, "last words"));
  }
  const auto packets = world.channel.take();
  REQUIRE(packets.size() == 1);
  CHECK(packets[0].bytes == "last words");
  CHECK(world.channel.descriptors().size() == 1);
}

TEST_CASE("the folder goes with its owner, not with a forked child") {
  std::string directory;
  {
    RecorderFiles files = *lay_recorder(recorder_places());
    directory = files.directory();
    const pid_t child = ::fork();
    if (child == 0) {
      {
        const RecorderFiles moved = std::move(const_cast<RecorderFiles&>(files));
      }
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
    CHECK(std::filesystem::exists(files.library()));
  }
  CHECK_FALSE(std::filesystem::exists(directory));
}

TEST_CASE("the library stays where that is asked for, and nothing else does") {
  std::string directory;
  {
    RecorderFiles files = *lay_recorder(recorder_places());
    directory = files.directory();
    files.keep_library();
  }
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    CHECK(entry.path().filename() == "recorder.so");
    ++count;
  }
  CHECK(count == 1);
  std::filesystem::remove_all(directory);
}

TEST_CASE("no recorder where no place is") {
  const auto files = lay_recorder({"/nonexistent", "relative"});
  REQUIRE_FALSE(files);
  CHECK(files.error().kind == ErrorKind::io);
  CHECK(files.error().message ==
        "no place for the recorder: /nonexistent: it is not there: No such file or directory; "
        "relative: it is no absolute path");
}
