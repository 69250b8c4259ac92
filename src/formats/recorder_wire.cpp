#include "cudart_doctor/formats/recorder_wire.hpp"

#include <array>
#include <limits>
#include <map>
#include <optional>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"start", "load", "unload", "lost", "sync"};
constexpr std::array<std::string_view, 5> kCauses = {"unknown", "program", "needed", "preload",
                                                     "opened"};

tl::unexpected<Error> malformed(std::string message) {
  return fail(ErrorKind::malformed, "record of the recorder: " + std::move(message));
}

template <typename Value, std::size_t N>
std::optional<Value> named(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names.at(i) == name) return static_cast<Value>(i);
  }
  return std::nullopt;
}

template <typename Number>
std::optional<Number> number_in(std::string_view text, int base) {
  const auto value = parse_unsigned(text, base);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
    return std::nullopt;
  }
  return static_cast<Number>(*value);
}

/// The fields of one record. What is wrong with one that was asked for is kept until the end.
class Fields {
 public:
  /// Adds a field; nothing where it may not be there.
  Result<void> add(std::string_view key, std::string_view value) {
    if (key == "pyfile" || key == "pyline" || key == "pyfunc" || key == "pymod") {
      return add_frame_field(key, value);
    }
    if (!values_.emplace(key, value).second) {
      return malformed("'" + escape_foreign(key) + "' twice");
    }
    return {};
  }

  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }

  std::string text(std::string_view key) {
    const auto found = values_.find(key);
    if (found == values_.end()) {
      note("no '" + std::string(key) + "'");
      return {};
    }
    return std::string(found->second);
  }

  template <typename Number>
  Number number(std::string_view key, int base = 10) {
    const auto value = number_in<Number>(text(key), base);
    if (!value) note("'" + std::string(key) + "' is no number");
    return value.value_or(0);
  }

  FileKey file() {
    const std::string device = text("dev");
    const auto parts = split(device, ':');
    const auto major = number_in<std::uint32_t>(parts.front(), 10);
    const auto minor = number_in<std::uint32_t>(parts.back(), 10);
    if (parts.size() != 2 || !major || !minor) note("'dev' is no device");
    return {major.value_or(0), minor.value_or(0), number<std::uint64_t>("ino")};
  }

  LoadCause cause() {
    const auto value = named<LoadCause>(kCauses, text("cause"));
    if (!value) note("'cause' is none");
    return value.value_or(LoadCause::unknown);
  }

  std::vector<PythonFrame> take_frames() { return std::move(frames_); }

  /// What was wrong first.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  void note(std::string problem) {
    if (!problem_) problem_ = std::move(problem);
  }

  Result<void> add_frame_field(std::string_view key, std::string_view value) {
    if (key == "pyfile") {
      if (frames_.size() == kMaxPythonFrames) {
        return fail(ErrorKind::limit, "record of the recorder: more than " +
                                          count_of(kMaxPythonFrames, "Python frame"));
      }
      frames_.emplace_back().file = value;
      seen_.clear();
      return {};
    }
    if (frames_.empty()) return malformed("'" + std::string(key) + "' without 'pyfile'");
    if (!seen_.emplace(key, value).second) return malformed("'" + std::string(key) + "' twice");
    PythonFrame& frame = frames_.back();
    if (key == "pyfunc") frame.function = value;
    if (key == "pymod") frame.module = value;
    if (key != "pyline") return {};
    const auto line = number_in<std::uint32_t>(value, 10);
    if (!line) return malformed("'pyline' is no number");
    frame.line = *line;
    return {};
  }

  std::map<std::string_view, std::string_view> values_;
  std::map<std::string_view, std::string_view> seen_;  ///< Of the frame that was begun last.
  std::vector<PythonFrame> frames_;
  std::optional<std::string> problem_;
};

Result<Fields> split_fields(std::string_view rest) {
  Fields fields;
  while (!rest.empty()) {
    const std::string_view field = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(field.size() + 1);
    const auto equals = field.find('=');
    if (equals == std::string_view::npos) return malformed("a field without '='");
    const auto added = fields.add(field.substr(0, equals), field.substr(equals + 1));
    if (!added) return tl::unexpected(added.error());
  }
  return fields;
}

LoadEvent load_of(Fields& fields) {
  LoadEvent event;
  event.kind = LoadKind::load;
  event.order = fields.number<std::uint32_t>("order");
  event.cause = fields.cause();
  if (fields.has("dev") || fields.has("ino")) event.key = fields.file();
  if (fields.has("name")) event.requested = fields.text("name");
  if (fields.has("by")) event.requester = fields.text("by");
  if (fields.has("callerobj") || fields.has("calleroff")) {
    event.caller = NativeCaller{.object = fields.text("callerobj"),
                                .offset = fields.number<std::uint64_t>("calleroff", 16),
                                .symbol = {}};
  }
  if (fields.has("pynote")) event.python_note = fields.text("pynote");
  event.python = fields.take_frames();
  return event;
}

WireRecord record_of(WireKind kind, Fields& fields) {
  WireRecord record;
  record.kind = kind;
  record.pid = fields.number<std::int64_t>("pid");
  if (kind == WireKind::lost) record.lost = fields.number<std::uint64_t>("count");
  if (kind == WireKind::sync) record.checks_leaks = fields.has("leakcheck");
  if (kind == WireKind::lost || kind == WireKind::sync) return record;
  if (kind == WireKind::start) record.parent_pid = fields.number<std::int64_t>("ppid");
  if (kind == WireKind::load) record.event = load_of(fields);
  if (kind == WireKind::unload) record.event.kind = LoadKind::unload;
  record.monotonic = fields.number<std::int64_t>("t");
  record.event.tid = fields.number<std::int64_t>("tid");
  if (kind == WireKind::start) return record;
  record.event.loader_namespace = fields.number<std::uint32_t>("ns");
  record.event.base = fields.number<std::uint64_t>("base", 16);
  record.event.path = fields.text("path");
  return record;
}

}  // namespace

Result<WireRecord> parse_record(std::string_view packet) {
  if (packet.size() > kMaxRecord) {
    return fail(ErrorKind::limit,
                "record of the recorder: more than " + std::to_string(kMaxRecord) + " bytes");
  }
  if (packet.empty() || packet.back() != '\0') return malformed("no NUL at its end");
  constexpr std::string_view kKindKey = "kind=";
  const std::string_view first = packet.substr(0, packet.find('\0'));
  if (!first.starts_with(kKindKey)) return malformed("it does not begin with its kind");
  const auto kind = named<WireKind>(kKinds, first.substr(kKindKey.size()));
  if (!kind) return malformed("of no known kind");
  auto fields = split_fields(packet.substr(first.size() + 1));
  if (!fields) return tl::unexpected(fields.error());
  WireRecord record = record_of(*kind, *fields);
  if (const auto& problem = fields->problem()) return malformed(*problem);
  return record;
}

}  // namespace cudart_doctor
