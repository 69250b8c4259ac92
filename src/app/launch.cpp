// Setting `run` up: everything that can be wrong with the command line is told before the command
// is started, and nothing is looked at before that.
#include "cudart_doctor/app/launch.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <utility>

#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/line_pattern.hpp"
#include "cudart_doctor/app/outcome.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/clock.hpp"
#include "cudart_doctor/sys/stale_recorders.hpp"
#include "launcher.hpp"

namespace cudart_doctor {
namespace {

/// The folder of --record has to be new or empty; to say so after the command has run is too late.
Result<void> check_record(const std::string& folder) {
  if (folder.empty()) return {};
  std::error_code error;
  const bool taken =
      std::filesystem::exists(folder, error) &&
      (!std::filesystem::is_directory(folder, error) || !std::filesystem::is_empty(folder, error));
  if (!taken) return {};
  return fail(ErrorKind::usage,
              "--record: " + escape_foreign(folder) + " is there already and not an empty folder");
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
  const auto how = read_judging(options);
  if (!how) return refuse(how.error());
  if (const auto sound = check_record(request.record); !sound) return refuse(sound.error());
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
  command.traced = request.ptrace && !recorded && can != Recordable::no_set_id;
  if (tools->recorder) command.audit_library = tools->recorder->library();
  if (tools->output) {
    command.out = tools->output->command_out();
    command.err = tools->output->command_err();
  }
  Launcher launcher(options, world, *how, *tools);
  const std::int64_t start = monotonic_now();
  auto started = start_command(command);
  if (!started) return not_started(options, world, started.error());
  if (tools->output) tools->output->close_command_ends();
  if (tools->recorder) {
    remove_stale_recorders(std::string(dir_name(tools->recorder->directory())));
  }
  head.root_pid = started->pid;
  return launcher.watch(std::move(*started), can, LaunchBook(std::move(head), start));
}

}  // namespace cudart_doctor
