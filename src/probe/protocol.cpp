// Frames and orders as JSON, by the archives that also write snapshots: hostile bytes end as
// errors.
#include "cudart_doctor/probe/protocol.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "collect/json_archive.hpp"

namespace cudart_doctor {

template <>
struct EnumNames<FrameKind> {
  static constexpr std::array<std::string_view, 8> kNames = {
      "begin", "end", "names", "versions", "device", "driver", "mechanism", "done"};
};

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<OrderedRuntime> v) {
  ar("index", v.index);
  ar("fd", v.fd);
  ar("symbols_only", v.symbols_only);
}

template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<ProbeOrder> v) {
  ar("side", v.side);
  ar("runtimes", v.runtimes);
  ar("bound_names", v.bound_names);
  ar("devices", v.devices);
  ar("all_pairs", v.all_pairs);
  ar("no_ipc", v.no_ipc);
  ar("driver_checks", v.driver_checks);
}

/// Only what the kind carries.
template <typename Archive>
void describe(Archive& ar, typename Archive::template Ref<Frame> v) {
  ar("kind", v.kind);
  ar("runtime", v.runtime);
  switch (v.kind) {
    case FrameKind::begin:
    case FrameKind::end: ar("stage", v.stage); break;
    case FrameKind::names:
      ar("missing", v.missing);
      ar("elsewhere", v.elsewhere);
      break;
    case FrameKind::versions:
      ar("runtime_version", v.runtime_version);
      ar("driver_version", v.driver_version);
      break;
    case FrameKind::device: ar("device", v.device); break;
    case FrameKind::driver: ar("driver", v.driver); break;
    case FrameKind::mechanism: ar("mechanism", v.mechanism); break;
    case FrameKind::done: break;
  }
}

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kMaxFrame = 64u << 10;

template <typename T>
Result<T> decode(std::string_view text, std::string_view what) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(ErrorKind::malformed, std::string(what) + " is no JSON");
  T value;
  JsonReader reader(json);
  reader.decode(json, value);
  if (reader.error()) {
    return fail(ErrorKind::malformed, std::string(what) + ": " + *reader.error());
  }
  return value;
}

}  // namespace

std::string encode_frame(const Frame& frame) {
  const std::string text = JsonWriter::encode(frame).dump();
  std::string out;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    out.push_back(static_cast<char>((text.size() >> (8 * i)) & 0xFFU));
  }
  return out + text;
}

void FrameReader::add(std::string_view bytes) {
  buffer_.erase(0, std::exchange(begin_, 0));
  buffer_ += bytes;
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  if (rest.size() < kLengthBytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size |= std::size_t{static_cast<unsigned char>(rest[i])} << (8 * i);
  }
  if (size > kMaxFrame) {
    return fail(ErrorKind::limit, "a frame of " + std::to_string(size) + " bytes");
  }
  if (rest.size() - kLengthBytes < size) return std::nullopt;
  auto frame = decode<Frame>(rest.substr(kLengthBytes, size), "a frame");
  if (!frame) return tl::unexpected(frame.error());
  begin_ += kLengthBytes + size;
  return std::optional<Frame>(std::move(*frame));
}

std::string encode_order(const ProbeOrder& order) { return JsonWriter::encode(order).dump(); }

Result<ProbeOrder> parse_order(std::string_view text) {
  return decode<ProbeOrder>(text, "the order");
}

}  // namespace cudart_doctor
