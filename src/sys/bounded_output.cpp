#include "cudart_doctor/sys/bounded_output.hpp"

#include <sys/stat.h>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {
namespace {

enum Answer : int { kDone, kRefused, kWaitsForReader };

bool waits_for_reader(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

WorkResult write_in_child(const std::string& path, std::string_view bytes) {
  give_up_standard_error();
  WorkResult result;
  if (waits_for_reader(path)) {
    result.code = kWaitsForReader;
    return result;
  }
  const auto written = write_output(path, bytes);
  if (written) return result;
  result.code = kRefused;
  result.message = written.error().message;
  return result;
}

}  // namespace

Result<void> write_output_within(const std::string& path, std::string_view bytes,
                                 std::chrono::milliseconds limit) {
  if (path == "-") return write_output(path, bytes);
  const auto result = run_supervised({.deadline = limit}, [&](Progress& progress) {
    progress.set("write the file", {});
    return write_in_child(path, bytes);
  });
  if (!result && result.error().kind == ErrorKind::timeout) {
    return fail(ErrorKind::usage,
                "cannot write " + escape_foreign(path) + ": " + result.error().message);
  }
  if (!result || result->code == kWaitsForReader) return write_output(path, bytes);
  if (result->code == kRefused) return fail(ErrorKind::usage, result->message);
  return {};
}

}  // namespace cudart_doctor
