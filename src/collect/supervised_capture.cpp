#include "cudart_doctor/collect/supervised_capture.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {
namespace {

/// WorkResult::code of a child whose capture failed; its output is then an error's parts.
constexpr int kCaptureFailed = 1;

std::string pack_error(const Error& error) {
  return std::to_string(static_cast<int>(error.kind)) + " " + std::to_string(error.sys_errno) +
         " " + error.message;
}

Error unpack_error(std::string_view packed) {
  const auto first = packed.find(' ');
  const auto second = first == std::string_view::npos ? first : packed.find(' ', first + 1);
  if (second == std::string_view::npos) return {ErrorKind::io, "the capture failed", 0};
  const auto kind = parse_unsigned(packed.substr(0, first), 10);
  const auto number = parse_unsigned(packed.substr(first + 1, second - first - 1), 10);
  constexpr auto kLast = static_cast<std::uint64_t>(ErrorKind::unsupported);
  return {kind && *kind <= kLast ? static_cast<ErrorKind>(*kind) : ErrorKind::io,
          std::string(packed.substr(second + 1)),
          static_cast<int>(std::min<std::uint64_t>(number.value_or(0), 4095))};
}

WorkResult capture_in_child(const CaptureOptions& options, const CaptureRules& rules,
                            Progress& progress) {
  CaptureOptions told = options;
  told.progress = [&](std::string_view stage, std::string_view path) {
    progress.set(stage, path);
    if (options.progress) options.progress(stage, path);
  };
  auto snapshot = capture_process(told, rules);
  if (!snapshot) return {pack_error(snapshot.error()), kCaptureFailed};
  progress.set("hand over the result", "");
  return {pack_snapshot(*snapshot), 0};
}

}  // namespace

Result<Snapshot> capture_supervised(const CaptureOptions& options, const CaptureRules& rules,
                                    const CaptureLimits& limits) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + limits.deadline;
  CaptureOptions attempt = options;
  Supervisor supervisor;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
    auto result = supervisor.run({std::max(left, std::chrono::milliseconds(1)), limits.step_limit},
                                 [&](Progress& progress) {
                                   return capture_in_child(attempt, rules, progress);
                                 });
    if (!result) {
      const std::string& path = supervisor.last_step().path;
      const bool again = result.error().kind == ErrorKind::timeout && !path.empty() &&
                         steady_clock::now() < end && attempt.skip_paths.insert(path).second;
      if (again) continue;
      return tl::unexpected(result.error());
    }
    if (result->code == kCaptureFailed) return tl::unexpected(unpack_error(result->output));
    auto snapshot = unpack_snapshot(result->output);
    if (!snapshot) return snapshot;
    for (const auto& path : attempt.skip_paths) {
      snapshot->capture.notes.push_back(escape_foreign(path) +
                                        " did not answer within the deadline and was left out");
    }
    return snapshot;
  }
}

}  // namespace cudart_doctor
