// Frames and orders: what is written is read back, and nothing hostile gets through.
#include "cudart_doctor/probe/protocol.hpp"

#include <random>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

std::string with_length(std::string_view text) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) {
    out.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xFFU));
  }
  return out + std::string(text);
}

Result<std::optional<Frame>> read_one(std::string_view bytes) {
  FrameReader reader;
  reader.add(bytes);
  return reader.next();
}

Frame stage_frame() {
  Frame frame;
  frame.kind = FrameKind::end;
  frame.runtime = 7;
  frame.stage = {.stage = Stage::ipc_import,
                 .outcome = StageOutcome::fail,
                 .side = ProbeSide::importer,
                 .device = 1,
                 .peer_device = 2,
                 .code = 201,
                 .call = "cudaIpcOpenMemHandle",
                 .detail = "not UTF-8: \xff, and a NUL: " + std::string(1, '\0')};
  return frame;
}

}  // namespace

TEST_CASE("a stage's frame comes back as it was, foreign bytes included") {
  const auto back = read_one(encode_frame(stage_frame()));
  REQUIRE(back);
  REQUIRE(*back);
  const Frame& frame = **back;
  const Frame sent = stage_frame();
  CHECK(frame.kind == FrameKind::end);
  CHECK(frame.runtime == 7);
  CHECK(frame.stage.stage == Stage::ipc_import);
  CHECK(frame.stage.outcome == StageOutcome::fail);
  CHECK(frame.stage.side == ProbeSide::importer);
  CHECK(frame.stage.device == 1);
  CHECK(frame.stage.peer_device == 2);
  CHECK(frame.stage.code == 201);
  CHECK(frame.stage.call == sent.stage.call);
  CHECK(frame.stage.detail == sent.stage.detail);
}

TEST_CASE("a mechanism's frame keeps code and errno apart") {
  Frame frame;
  frame.kind = FrameKind::mechanism;
  frame.mechanism.mechanism = Mechanism::vmm_pidfd;
  frame.mechanism.outcome = StageOutcome::fail;
  frame.mechanism.error = 1;
  frame.mechanism.call = "pidfd_getfd";
  const auto back = read_one(encode_frame(frame));
  REQUIRE(back);
  REQUIRE(*back);
  CHECK_FALSE((*back)->mechanism.code);
  CHECK((*back)->mechanism.error == 1);
}

TEST_CASE("frames that arrive byte by byte are the same frames") {
  const std::string bytes = encode_frame(stage_frame()) + encode_frame(stage_frame());
  FrameReader reader;
  int frames = 0;
  for (const char byte : bytes) {
    reader.add({&byte, 1});
    const auto frame = reader.next();
    REQUIRE(frame);
    if (*frame) ++frames;
  }
  CHECK(frames == 2);
}

TEST_CASE("a frame that is cut is no frame and no error") {
  const std::string bytes = encode_frame(stage_frame());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto frame = read_one(bytes.substr(0, size));
    REQUIRE(frame);
    CHECK_FALSE(*frame);
  }
}

TEST_CASE("a length beyond the limit is refused before its bytes come") {
  const auto frame = read_one("\xff\xff\xff\xff");
  REQUIRE_FALSE(frame);
  CHECK(frame.error().kind == ErrorKind::limit);
}

TEST_CASE("what is no frame ends the stream") {
  const std::string good = encode_frame(stage_frame()).substr(4);
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::string> texts = {
      "",
      "no JSON",
      "[]",
      "{}",
      replaced("\"end\"", "\"ende\""),
      replaced("\"ipc_import\"", "\"ipc_imports\""),
      replaced("\"runtime\":7", "\"runtime\":-1"),
      replaced("\"runtime\":7", "\"runtime\":4294967296"),
      replaced("\"code\":201", "\"code\":2147483648"),
      replaced("\"code\":201", "\"code\":\"201\""),
      replaced("\"device\":1", "\"device\":1.5"),
      std::string(20000, '['),
  };
  for (const std::string& text : texts) {
    INFO(text.substr(0, 200));
    const auto frame = read_one(with_length(text));
    REQUIRE_FALSE(frame);
    CHECK(frame.error().kind == ErrorKind::malformed);
  }
}

TEST_CASE("random bytes in place of a frame's never give a frame") {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> byte(0, 255);
  for (int i = 0; i < 2000; ++i) {
    std::string text(64, '\0');
    for (char& one : text) one = static_cast<char>(byte(random));
    const auto frame = read_one(with_length(text));
    REQUIRE_FALSE(frame);
  }
}

TEST_CASE("an order comes back as it was") {
  const ProbeOrder order = {.side = ProbeSide::importer,
                            .runtimes = {{.index = 3, .fd = 10, .symbols_only = true}},
                            .bound_names = {"cudaMalloc"},
                            .devices = {0, 5},
                            .all_pairs = false,
                            .no_ipc = "WSL2",
                            .driver_checks = false};
  const auto back = parse_order(encode_order(order));
  REQUIRE(back);
  CHECK(back->side == ProbeSide::importer);
  REQUIRE(back->runtimes.size() == 1);
  CHECK(back->runtimes[0].index == 3);
  CHECK(back->runtimes[0].fd == 10);
  CHECK(back->runtimes[0].symbols_only);
  CHECK(back->bound_names == order.bound_names);
  CHECK(back->devices == order.devices);
  CHECK_FALSE(back->all_pairs);
  CHECK(back->no_ipc == "WSL2");
  CHECK_FALSE(back->driver_checks);
}
