#include <algorithm>
#include <utility>

#include "cudart_doctor/app/inspection.hpp"
#include "cudart_doctor/app/judgement.hpp"
#include "cudart_doctor/app/probe.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/formats/report_json.hpp"
#include "cudart_doctor/render/render.hpp"
#include "tree_look.hpp"

namespace cudart_doctor {
namespace {

ProcessVerdict verdict_of(const Report& report) {
  ProcessVerdict out;
  out.end = report.verdict.end;
  out.worst = report.verdict.worst;
  out.undecided = report.verdict.undecided;
  out.runtimes = mapped_runtimes(report);
  for (const Finding& finding : report.findings) {
    if (!finding.allowed.empty()) {
      out.allowed.push_back({finding.id, finding.severity, finding.allowed});
      continue;
    }
    if (out.findings.empty()) out.lead = finding;
    out.findings.push_back({finding.id, finding.severity, finding.owner});
  }
  out.ended = report.allowances.ended;
  for (const Consumer& consumer : report.consumers) {
    if (consumer.presence != Presence::present) continue;
    const std::string version = consumer.version.empty() ? "" : " " + consumer.version;
    out.consumers.push_back(consumer.name + version);
  }
  return out;
}

/// Whether the glance was wrong: a file is named like one of the family, and nothing is in it.
bool holds_nothing(const Report& report, const NodeProcess& process) {
  const auto loaded = [](const auto& each) { return each.loaded; };
  return process.gpus.empty() && std::ranges::none_of(report.candidates, loaded) &&
         std::ranges::none_of(report.companions, loaded) && process.verdict->consumers.empty() &&
         report.verdict.end == RunEnd::ok;
}

/// The names that rules for users are learned from; nothing else of the environment is handed on.
Environment naming_variables(const Snapshot& snapshot) {
  Environment out;
  const Environment* const environment = snapshot.environment.get();
  if (environment == nullptr) return out;
  for (const char* const name : {"USER", "LOGNAME", "USERNAME", "SUDO_USER", "HOME"}) {
    if (const auto* value = environment->find(name)) out.variables.emplace_back(name, *value);
  }
  return out;
}

NodeProcess with_error(NodeProcess process, const Error& error) {
  const bool over = error.kind == ErrorKind::gone || error.kind == ErrorKind::not_found;
  process.state = over ? ProcessState::gone : ProcessState::unjudged;
  process.reason = error.kind;
  process.note = error.message;
  return process;
}

}  // namespace

ProcessAnswer judge_process(const ManyLook& look, NodeProcess process,
                            const std::set<std::string>& skip, Progress& progress) {
  ProcessAnswer answer;
  CaptureOptions capture;
  capture.pid = process.facts.pid;
  capture.proc_root = look.world.proc_root;
  capture.skip_paths = skip;
  capture.progress = [&progress](std::string_view stage, std::string_view path) {
    progress.set(stage, path);
  };
  auto snapshot = capture_process(capture, capture_rules(look.options.depth));
  if (!snapshot) {
    answer.process = with_error(std::move(process), snapshot.error());
    return answer;
  }
  if (snapshot->process.start_ticks != process.facts.start_ticks) {
    answer.process = with_error(
        std::move(process),
        {ErrorKind::gone, "it ended while the others were looked at; its PID was used again", 0});
    return answer;
  }
  progress.set("judge", {});
  Report report = identify(std::move(*snapshot), look.how);
  report.snapshot.probe = probe_runtimes(report, look.options.probe, {});
  judge(report, look.how);
  process.facts = report.snapshot.process;
  process.verdict = verdict_of(report);
  process.state = ProcessState::judged;
  answer.host = report.snapshot.host.name;
  if (look.options.redact) answer.naming = naming_variables(report.snapshot);
  if (holds_nothing(report, process)) {
    process.state = ProcessState::without_cuda;
    process.verdict.reset();
  } else if (auto digest = parse_report(render_json(report))) {
    process.verdict->sentence = digest->sentence;
    process.verdict->blind = digest->blind;
    answer.digest = std::move(*digest);
  }
  answer.process = std::move(process);
  return answer;
}

}  // namespace cudart_doctor
