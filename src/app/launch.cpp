// Setting `run` up: everything that can be wrong with the command line is told before the command
// is started, and nothing is looked at before that.
#include "cudart_doctor/app/launch.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/line_pattern.hpp"
#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "cudart_doctor/sys/new_folder.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/stale_recorders.hpp"
#include "launcher.hpp"

namespace cudart_doctor {
namespace {

/// For run_within.
Result<std::string> without_text(const Result<void>& done) {
  return done ? Result<std::string>() : tl::unexpected(done.error());
}

/// The folder of --record has to be new or empty; to say so after the command has run is too late,
/// and so it is made.
Result<void> make_record(const std::string& folder) {
  const auto made = NewFolder::make(folder);
  if (!made) return fail(ErrorKind::usage, "--record: " + made.error().message);
  if (::faccessat(made->fd(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  return fail(ErrorKind::usage, "--record: " + escape_foreign(folder) +
                                    ": cannot be written to: " + std::strerror(errno));
}

Result<std::optional<OutputWatch>> watch_output(const ReadyCondition& ready) {
  if (ready.kind != ReadyKind::output) return std::optional<OutputWatch>();
  auto pattern = LinePattern::compile(ready.text);
  if (!pattern) return tl::unexpected(pattern.error());
  const auto shared = std::make_shared<const LinePattern>(std::move(*pattern));
  auto watch =
      OutputWatch::start([shared](std::string_view line) { return shared->matches(line); });
  if (!watch) return tl::unexpected(watch.error());
  return std::optional<OutputWatch>(std::move(*watch));
}

Result<LaunchTools> make_tools(const Options& options, const World& world) {
  auto proc = ProcDirectory::open(world.proc_root);
  if (!proc) return tl::unexpected(proc.error());
  if (const auto adopted = adopt_orphans(); !adopted) return tl::unexpected(adopted.error());
  auto relay = SignalRelay::start();
  if (!relay) return tl::unexpected(relay.error());
  auto output = watch_output(options.launch.ready);
  if (!output) return tl::unexpected(output.error());
  return LaunchTools{std::move(*proc), std::move(*relay), std::nullopt, std::move(*output)};
}

Recording recording_head(const LaunchRequest& request) {
  Recording head;
  head.command = request.command;
  head.started_at = utc_now();
  head.ready_when = request.ready.given;
  return head;
}

/// Whether the command is `env`, asked to take variables away: what it executes may be without the
/// recorder. A traced set-ID program would lose its rights.
bool may_shed_recorder(const std::vector<std::string>& command) {
  if (base_name(command.front()) != "env") return false;
  bool has_option = false;
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string& word = command[i];
    const bool is_option = word.starts_with('-');
    has_option = has_option || is_option;
    if (is_option || word.find('=') != std::string::npos) continue;
    const auto program = find_command(word);
    return has_option && (!program || recordable(*program) != Recordable::no_set_id);
  }
  return false;
}

/// The command could not be started; a document says so where one was asked for.
int not_started(const Options& options, const World& world, const StartFailure& failure) {
  Error error = failure.error;
  error.kind = ErrorKind::usage;
  deliver(options, world, failed(options, error));
  return failure.exit_code;
}

}  // namespace

int launch(const Options& options, const World& world) {
  const LaunchRequest& request = options.launch;
  const auto refuse = [&](const Error& error) {
    return deliver(options, world, failed(options, error));
  };
  const auto how = read_judging_until(options, std::chrono::steady_clock::now() + options.timeout);
  if (!how) return refuse(how.error());
  const auto writable = run_within(options.timeout, "look whether it can be written to",
                                   [&] { return without_text(check_output(options.output)); });
  if (!writable) {
    const bool late = writable.error().kind == ErrorKind::timeout;
    world.complain("-o: " + (late ? "cannot write " + escape_foreign(options.output) + ": " : "") +
                   writable.error().message);
    return exit_code_of(RunEnd::usage, options.exit_style);
  }
  if (!request.record.empty()) {
    const auto made = run_within(options.timeout, "make the folder " + request.record,
                                 [&] { return without_text(make_record(request.record)); });
    if (!made) return refuse(made.error());
  }
  auto tools = make_tools(options, world);
  if (!tools) return refuse(tools.error());

  Recording head = recording_head(request);
  if (auto laid = lay_recorder(recorder_places())) {
    tools->recorder.emplace(std::move(*laid));
    head.recorder = tools->recorder->library();
  } else {
    head.limits.push_back("loads are known from /proc only, the recorder could not be laid: " +
                          laid.error().message);
  }
  const auto program = find_command(request.command.front());
  const Recordable can = program ? recordable(*program) : Recordable::unknown;
  const bool recorded = tools->recorder.has_value() && can == Recordable::yes;

  CommandOptions command;
  command.command = request.command;
  command.state = world.start_state;
  const bool needs_tracing = !recorded || may_shed_recorder(request.command);
  command.traced = request.ptrace && needs_tracing && can != Recordable::no_set_id;
  if (tools->recorder) command.audit_library = tools->recorder->library();
  if (tools->output) {
    command.out = tools->output->command_out();
    command.err = tools->output->command_err();
  }
  Launcher launcher(options, world, *how, *tools);
  const std::int64_t start = monotonic_now();
  auto started = start_command(command);
  if (!started) {
    if (!request.record.empty()) ::rmdir(request.record.c_str());
    return not_started(options, world, started.error());
  }
  if (tools->output) tools->output->close_command_ends();
  if (tools->recorder) {
    remove_stale_recorders(std::string(dir_name(tools->recorder->directory())));
  }
  head.root_pid = started->pid;
  const int code = launcher.watch(std::move(*started), can, LaunchBook(std::move(head), start));
  if (tools->recorder) {
    remove_kept_recorders(std::string(dir_name(tools->recorder->directory())), tools->proc);
  }
  return code;
}

}  // namespace cudart_doctor
