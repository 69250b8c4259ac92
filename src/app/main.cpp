#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string_view>

#include "cudart_doctor/app/formats.hpp"
#include "cudart_doctor/app/log.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/probe/runner.hpp"
#include "cudart_doctor/render/render.hpp"
#include "cudart_doctor/sys/bounded_output.hpp"
#include "cudart_doctor/sys/gained_rights.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/self_child.hpp"

namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Where a report goes that no -o names: a command's stdout is the command's.
int report_descriptor(const cudart_doctor::Options& options) {
  const bool to_stderr =
      options.command == cudart_doctor::Command::run && options.launch.report_to_stderr;
  return to_stderr ? STDERR_FILENO : STDOUT_FILENO;
}

/// no-color.org: present and not empty. A forced colour outranks it only through --color.
bool colour_by_itself(int descriptor) {
  const char* const term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return ::isatty(descriptor) == 1 && !dumb && !is_set("NO_COLOR");
}

/// Of the terminal that the report goes to: COLUMNS where the user set it, else what the terminal
/// says; 0 for a file or a pipe, whose reader is not known.
std::size_t terminal_columns(int descriptor) {
  if (::isatty(descriptor) != 1) return 0;
  if (const char* const set = std::getenv("COLUMNS"); set != nullptr) {
    if (const auto columns = cudart_doctor::parse_unsigned(set, 10)) return *columns;
  }
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// Descriptors 0 to 2 that the caller closed are taken, or the next file opened would get such a
/// number and be written to. Opened for reading only: a write to stdout still fails.
void take_standard_descriptors() {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDONLY);
  if (fd > STDERR_FILENO) ::close(fd);
}

cudart_doctor::Result<void> write_to_stderr(const std::string& /*path*/, std::string_view bytes) {
  return cudart_doctor::write_all(STDERR_FILENO, bytes);
}

using ReportWriter =
    std::function<cudart_doctor::Result<void>(const std::string& path, std::string_view bytes)>;

/// Where the report to `descriptor` goes that no -o sends elsewhere.
ReportWriter report_writer(int descriptor, std::chrono::milliseconds limit) {
  if (descriptor == STDERR_FILENO) return &write_to_stderr;
  return [limit](const std::string& path, std::string_view bytes) {
    return cudart_doctor::write_output_within(path, bytes, limit);
  };
}

int print_usage_error(const cudart_doctor::Immediate& immediate) {
  using namespace cudart_doctor;
  // The first line; behind it comes advice for people.
  const Failure failure{{ErrorKind::usage, immediate.text.substr(0, immediate.text.find('\n')), 0},
                        immediate.exit_style,
                        immediate.exit_code};
  (void)write_all(STDOUT_FILENO, rendered_failure(failure, immediate.format));
  say("cudart-doctor: " + immediate.text);
  if (immediate.annotate == Annotate::github) say(render_error_github(failure));
  return immediate.exit_code;
}

int print(const cudart_doctor::Immediate& immediate) {
  using namespace cudart_doctor;
  if (immediate.to_stderr) return print_usage_error(immediate);
  return write_all(STDOUT_FILENO, immediate.text)
             ? immediate.exit_code
             : exit_code_of(RunEnd::usage, immediate.exit_style);
}

constexpr int kUsage = 2;

using ChildMain = int();

/// nullptr: the first word of the command line names no child.
ChildMain* find_child_main(std::string_view word) {
  using namespace cudart_doctor;
  if (word == kSelfTargetArgument) return &self_target_main;
  if (word == kProbeChildArgument) return &probe_child_main;
  if (word == kGateChildArgument) return &gate_child_main;
  return nullptr;
}

int run_program(int argc, char** argv) {
  using namespace cudart_doctor;
  // Children of the doctor itself; nothing of the command line is looked at in them.
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (ChildMain* const child_main = find_child_main(first)) {
    // Anybody can type the word too, and they load what they are told to.
    return drop_gained_capabilities() ? child_main() : kUsage;
  }
  const StartState start_state = current_state();
  take_standard_descriptors();
  // A reader that closes the pipe is no reason to die noisily.
  std::signal(SIGPIPE, SIG_IGN);
  // A file size limit is an error to report, with nothing left behind.
  std::signal(SIGXFSZ, SIG_IGN);
  const auto parsed = parse_options(argc, argv);
  if (const auto* immediate = std::get_if<Immediate>(&parsed)) return print(*immediate);
  const auto& options = std::get<Options>(parsed);
  start_log(options.log_level);
  const int descriptor = report_descriptor(options);
  return run(options, World{.proc_root = "/proc",
                            .write_output = report_writer(descriptor, options.timeout),
                            .read_input = &read_stdin,
                            .complain = &log_error,
                            .note = &log_info,
                            .tell = &tell,
                            .terminal_columns = terminal_columns(descriptor),
                            .annotate = &say,
                            .colour_by_itself = colour_by_itself(descriptor),
                            .start_state = start_state});
}

void complain_of_memory() {
  (void)cudart_doctor::write_all(STDERR_FILENO, "cudart-doctor: not enough memory\n");
}

/// Where there is not even memory for an exception, nothing is in flight.
[[noreturn]] void on_terminate() {
  if (std::current_exception() != nullptr) std::abort();
  complain_of_memory();
  std::_Exit(kUsage);
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(&on_terminate);
  if (cudart_doctor::is_set_id()) {
    (void)cudart_doctor::write_all(STDERR_FILENO,
                                   "cudart-doctor: refuses to run set-user-ID or set-group-ID; run "
                                   "it as the user who may look\n");
    return kUsage;
  }
  // Not an abort: what was laid on disk is removed on the way here.
  try {
    return run_program(argc, argv);
  } catch (const std::bad_alloc&) {
    complain_of_memory();
    return kUsage;
  }
}
