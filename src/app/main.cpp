#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cudart_doctor/app/log.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/self_child.hpp"

namespace {

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// no-color.org: present and not empty. A forced colour outranks it only through --color.
bool colour_by_itself() {
  const char* const term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::strcmp(term, "dumb") == 0;
  return ::isatty(STDOUT_FILENO) == 1 && !dumb && !is_set("NO_COLOR");
}

int print(const cudart_doctor::Immediate& immediate) {
  const int fd = immediate.to_stderr ? STDERR_FILENO : STDOUT_FILENO;
  const auto written = cudart_doctor::write_all(fd, immediate.text);
  return written || immediate.exit_code != 0 ? immediate.exit_code : 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace cudart_doctor;
  if (argc > 1 && std::string_view(argv[1]) == kSelfTargetArgument) return self_target_main();
  // A reader that closes the pipe is no reason to die noisily.
  std::signal(SIGPIPE, SIG_IGN);
  const auto parsed = parse_options(argc, argv);
  if (const auto* immediate = std::get_if<Immediate>(&parsed)) return print(*immediate);
  const auto& options = std::get<Options>(parsed);
  start_log(options.log_level);
  return run(options, World{.proc_root = "/proc",
                            .write_output = &write_output,
                            .complain = &log_error,
                            .colour_by_itself = colour_by_itself()});
}
