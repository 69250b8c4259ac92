#include "probe_support.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/target_files.hpp"
#include "live/live_support.hpp"
#include "support/catch.hpp"

namespace probe {

using namespace cudart_doctor;

std::vector<std::int64_t> marked_processes() {
  const std::string mark = "PROBE_TEST=" + std::to_string(::getpid());
  std::vector<std::int64_t> found;
  const auto proc = ProcDirectory::open("/proc");
  for (const std::int64_t pid : proc->list_pids().value_or(std::vector<std::int64_t>())) {
    const auto text = proc->read_file(std::to_string(pid) + "/environ");
    if (text && text->find(mark) != std::string::npos) found.push_back(pid);
  }
  return found;
}

ProbeSubject subject_at(const std::string& path) {
  ProbeSubject subject;
  subject.path = path;
  const auto proc = ProcDirectory::open("/proc/self");
  const auto files = proc ? TargetFiles::open(*proc) : tl::unexpected(proc.error());
  REQUIRE(files);
  const auto info = files->stat(path);
  if (info) subject.key = info->key;
  return subject;
}

ProbePlan plan_with(std::string_view script) {
  ProbePlan plan;
  for (const char* name : {"toy_cudart12", "toy_cudart13", "toy_stub"}) {
    plan.subjects.push_back(subject_at(live::toy(name)));
    plan.subjects.back().candidate = static_cast<std::uint32_t>(plan.subjects.size() - 1);
  }
  plan.subjects.front().selected = true;
  plan.environment = {{"SCRIPT", std::string(script)}, {"PROBE_TEST", std::to_string(::getpid())}};
  return plan;
}

ProbePlan single_plan(std::string_view script) {
  ProbePlan plan = plan_with(script);
  plan.subjects.resize(1);
  return plan;
}

ProbeRunOptions options() {
  ProbeRunOptions result;
  result.executable = PROBE_SCRIPTED_CHILD;
  return result;
}

ProbeFacts run(const ProbePlan& plan, const ProbeRunOptions& options) {
  ProbeFacts facts = run_probe(plan, options);
  CHECK(marked_processes().empty());
  return facts;
}

bool all_marked_end() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!marked_processes().empty()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::sched_yield();
  }
  return true;
}

std::string reported(const ProbeFacts& facts) {
  REQUIRE_FALSE(facts.runtimes.empty());
  const StageResult* const stage =
      stage_of(facts.runtimes.front(), Stage::devices, ProbeSide::exporter);
  if (stage == nullptr) {
    for (const auto& one : facts.runtimes.front().stages) {
      UNSCOPED_INFO(kStageNames.at(static_cast<std::size_t>(one.stage)) << ": " << one.detail);
    }
  }
  REQUIRE(stage != nullptr);
  return stage->detail;
}

const StageResult* stage_of(const ProbedRuntime& runtime, Stage stage, ProbeSide side) {
  const auto found =
      std::find_if(runtime.stages.begin(), runtime.stages.end(),
                   [&](const StageResult& one) { return one.stage == stage && one.side == side; });
  return found == runtime.stages.end() ? nullptr : &*found;
}

bool passed(const ProbedRuntime& runtime) {
  const bool whole = stage_of(runtime, Stage::ipc_verify, ProbeSide::exporter) != nullptr &&
                     stage_of(runtime, Stage::ipc_close, ProbeSide::importer) != nullptr;
  return whole &&
         std::all_of(runtime.stages.begin(), runtime.stages.end(),
                     [](const StageResult& one) { return one.outcome == StageOutcome::pass; });
}

}  // namespace probe
