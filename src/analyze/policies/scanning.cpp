// Consumers that walk /proc/self/maps: vLLM, SGLang, FlashInfer, in every vintage known. Read in
// the released wheels; where a wheel and a pull request differ, the wheel counts.
#include <algorithm>
#include <utility>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/analyze/scan_rules.hpp"
#include "cudart_doctor/analyze/scan_stability.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kEnvName = "VLLM_CUDART_SO_PATH";
constexpr std::string_view kNotLoaded = "libcudart is not loaded in the current process";

std::optional<std::size_t> object_of_row(const Snapshot& snapshot, std::uint32_t row) {
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const auto& rows = snapshot.objects[i].rows;
    if (std::find(rows.begin(), rows.end(), row) != rows.end()) return i;
  }
  return std::nullopt;
}

void put_stability(const Snapshot& snapshot, std::span<const PythonLine> lines, ScanRule rule,
                   Selection& selection) {
  ScanStability found = judge_stability(snapshot.maps, lines, rule);
  selection.stability = found.stability;
  selection.other_answers = std::move(found.other_answers);
  if (found.not_tried == 0) return;
  selection.steps.push_back({"", StepVerdict::noted,
                             "other orders of addresses were tried for " +
                                 std::to_string(kMaxReordered) + " objects, not for " +
                                 std::to_string(found.not_tried) + " more"});
}

/// The answer as a selection, opened and bound as the consumer's ctypes code does.
template <ScanRule kRule>
Selection decide_scan(const Policy& policy, const PolicyInput& input) {
  const Snapshot& snapshot = input.snapshot;
  const std::vector<PythonLine>& lines = input.cudart_lines;
  StepLog log;
  const ScanAnswer answer = kRule(lines, log);
  Selection selection;
  selection.policy = std::string(policy.id);
  selection.outcome = answer.outcome;
  selection.steps = log.take();
  put_stability(snapshot, lines, kRule, selection);
  switch (answer.outcome) {
    case Outcome::selected:
      selection.chosen_text = answer.text;
      selection.object = object_of_row(snapshot, *answer.row);
      open_and_bind(policy, snapshot, selection);
      break;
    case Outcome::unexpected_filename:
      selection.object = object_of_row(snapshot, *answer.row);
      selection.error_type = "AssertionError";
      selection.error_text =
          "Unexpected filename: " + escape_foreign(answer.text) + " for library libcudart";
      break;
    case Outcome::no_path:
      selection.error_type = "ValueError";
      selection.error_text = "substring not found";
      break;
    default:
      selection.error_type = "AssertionError";
      selection.error_text = std::string(kNotLoaded);
      break;
  }
  return selection;
}

/// vLLM reads VLLM_CUDART_SO_PATH only where the scan found nothing; set but empty counts as set.
template <ScanRule kRule>
Selection decide_vllm(const Policy& policy, const PolicyInput& input) {
  Selection selection = decide_scan<kRule>(policy, input);
  const Environment* environment = input.snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kEnvName);
  if (selection.outcome != Outcome::none) {
    if (value != nullptr) {
      selection.steps.push_back(
          {std::string(kEnvName), StepVerdict::noted, "set, but not read: the scan found a line"});
    }
    return selection;
  }
  selection.error_text = std::string(kNotLoaded) + ", try setting " + std::string(kEnvName);
  if (environment == nullptr) {
    selection.steps.push_back({std::string(kEnvName), StepVerdict::noted,
                               "read when nothing is found; the environment is not known: " +
                                   escape_foreign(input.snapshot.environment.reason())});
    return selection;
  }
  if (value == nullptr) {
    selection.steps.push_back({std::string(kEnvName), StepVerdict::rejected, "not set"});
    return selection;
  }
  selection.steps.push_back({std::string(kEnvName), StepVerdict::taken,
                             value->empty() ? "set but empty: that counts as set"
                                            : "set, and nothing was found in maps"});
  selection.outcome = Outcome::selected;
  selection.chosen_text = *value;
  selection.error_text.clear();
  selection.error_type.clear();
  open_and_bind(policy, input.snapshot, selection);
  return selection;
}

/// FlashInfer's b12x wrapper raises another class for the same text.
Selection decide_b12x(const Policy& policy, const PolicyInput& input) {
  Selection selection = decide_scan<scan_b12x>(policy, input);
  if (selection.outcome == Outcome::none) selection.error_type = "RuntimeError";
  return selection;
}

/// The real path of the winner; two different real paths give nothing, without an exception.
Selection decide_unique(const Policy& policy, const PolicyInput& input) {
  Selection selection = decide_scan<scan_sglang>(policy, input);
  if (selection.outcome != Outcome::selected) return selection;
  std::vector<std::string> kept;
  std::vector<Step> matches;
  for (const PythonLine& line : input.cudart_lines) {
    StepLog ignored(StepLog::Mode::discard);
    const ScanAnswer alone = scan_sglang(std::span(&line, 1), ignored);
    if (alone.outcome != Outcome::selected) continue;
    if (base_name(alone.text).find("stub") != std::string_view::npos) continue;
    const auto disk = input.snapshot.disk.find(alone.text);
    const bool real = disk != input.snapshot.disk.end() && !disk->second.real_path.empty();
    kept.push_back(real ? disk->second.real_path : alone.text);
    const std::string reason =
        kept.back() == alone.text
            ? "matches, one of several real paths"
            : "matches; really " + escape_foreign(kept.back()) + ", one of several real paths";
    const bool known = std::ranges::find(matches, alone.text, &Step::subject) != matches.end();
    if (!known) matches.push_back({alone.text, StepVerdict::rejected, reason});
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  if (kept.size() == 1) return selection;
  Selection other;
  other.policy = selection.policy;
  other.stability = Stability::stable;
  other.steps = std::move(selection.steps);
  if (kept.empty()) {
    other.outcome = Outcome::undetermined;
    other.object = selection.object;
    other.possible = {selection.chosen_text, std::string(outcome_words(Outcome::none))};
    other.open_note = "what the rule does where only stubs are mapped is not established";
    return other;
  }
  // The scan took the first match, the others came too late; this rule takes none of them.
  std::erase_if(other.steps, [&](const Step& step) {
    return std::ranges::find(matches, step.subject, &Step::subject) != matches.end();
  });
  other.steps.insert(other.steps.end(), matches.begin(), matches.end());
  other.outcome = Outcome::none;
  other.open_note = "several real paths match: no answer";
  return other;
}

/// Files that lie today where a mapped object of the name was: opening the path would map them.
std::vector<DiskRequest> wanted_by_scan(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  for (const LoadedObject& object : snapshot.objects) {
    if (object.state == FileState::same || object.state == FileState::memory) continue;
    for (const std::string& path : object.paths) {
      if (path.find("libcudart") == std::string::npos) continue;
      wanted.push_back({DiskRequest::Want::elf, path, {}});
    }
  }
  return wanted;
}

std::vector<DiskRequest> wanted_by_vllm(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted = wanted_by_scan(snapshot);
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kEnvName);
  if (value == nullptr || value->empty()) return wanted;
  const auto more = wanted_by_dlopen(snapshot, {*value, ctypes_caller(snapshot)});
  wanted.insert(wanted.end(), more.begin(), more.end());
  return wanted;
}

constexpr std::string_view kLegacySummary =
    "first maps line with libcudart anywhere; asserts the file name; keeps the deleted mark";

Policy scan(Policy policy) {
  policy.scans_addresses = true;
  if (policy.wanted == nullptr) policy.wanted = wanted_by_scan;
  return policy;
}

std::vector<Policy> vllm_rows() {
  constexpr std::string_view kSummary =
      "first file name that begins with libcudart. or libcudart-; keeps the deleted mark; "
      "VLLM_CUDART_SO_PATH only where nothing is found";
  return {
      scan({.id = "vllm-2026-10",
            .consumer = "vllm",
            .title = "vLLM 0.31.0 and later",
            .vintage = "0.31.0 (2026-10) and later",
            .source = "wheels 0.31.0 to 0.33.0",
            .summary = kSummary,
            .bound_names = names_rt13(),
            .current = true,
            .wanted = wanted_by_vllm,
            .decide = decide_vllm<scan_vllm>}),
      scan({.id = "vllm-2026-07",
            .consumer = "vllm",
            .title = "vLLM 0.26 to 0.30",
            .vintage = "pull 47586; 0.26.0 (2026-07) to 0.30.0",
            .source = "vLLM ba50b9763; wheels 0.26.0 to 0.30.0",
            .summary = kSummary,
            .bound_names = names_rt10(),
            .wanted = wanted_by_vllm,
            .decide = decide_vllm<scan_vllm>}),
      scan({.id = "vllm-legacy",
            .consumer = "vllm",
            .title = "vLLM before #47586",
            .vintage = "pull 7620 (2024-08) to 0.25.1 (2026-07)",
            .source = "wheels 0.8.5 to 0.25.1",
            .summary = "first maps line with libcudart anywhere; asserts the file name; "
                       "VLLM_CUDART_SO_PATH only where nothing is found",
            .bound_names = names_rt10(),
            .wanted = wanted_by_vllm,
            .decide = decide_vllm<scan_legacy>}),
  };
}

std::vector<Policy> sglang_rows() {
  return {
      scan({.id = "sglang-2026-07",
            .consumer = "sglang",
            .title = "SGLang 0.5.16 and later",
            .vintage = "pull 30870; 0.5.16 (2026-07) and later",
            .source = "SGLang 04af94d15; wheels 0.5.16 to 0.5.23",
            .summary = "all lines whose file name begins with libcudart, deleted mark cut; the "
                       "first without stub, else the first",
            .bound_names = names_rt10(),
            .current = true,
            .decide = decide_scan<scan_sglang>}),
      scan({.id = "sglang-legacy",
            .rule = "scan-substring",
            .consumer = "sglang",
            .title = "SGLang before #30870",
            .vintage = "to 0.5.15.post1 (2026-07)",
            .source = "wheels 0.4.10 to 0.5.15.post1",
            .summary = kLegacySummary,
            .bound_names = names_rt10(),
            .decide = decide_scan<scan_legacy>}),
      scan({.id = "sglang-30870-draft",
            .consumer = "sglang",
            .title = "SGLang #30870, draft",
            .vintage = "first form of pull 30870; in no release",
            .source = "SGLang 981228bddd",
            .summary = "as sglang-2026-07, but the deleted mark is kept",
            .bound_names = names_rt10(),
            .released = false,
            .decide = decide_scan<scan_sglang_draft>}),
      scan({.id = "sglang-unique",
            .consumer = "sglang",
            .title = "SGLang, unique match",
            .vintage = "a later keyword; in no release to 0.5.23",
            .source = "upstream tests",
            .summary = "as sglang-2026-07; two different real paths give nothing",
            .bound_names = names_rt10(),
            .released = false,
            .decide = decide_unique}),
  };
}

std::vector<Policy> flashinfer_rows() {
  return {
      scan({.id = "flashinfer-2026-09",
            .rule = "scan-basename",
            .consumer = "flashinfer",
            .title = "FlashInfer after #5198",
            .vintage = "pull 5198; 0.7.1 (2026-10) and later",
            .source = "wheels 0.7.1 to 0.7.4",
            .summary = "first whole file name libcudart[-hexadecimal].so[.N...]; a deleted name "
                       "never matches",
            .bound_names = names_rt11(),
            .current = true,
            .decide = decide_scan<scan_flashinfer>}),
      scan({.id = "flashinfer-legacy-rt11",
            .consumer = "flashinfer",
            .title = "FlashInfer 0.6.17-0.7.0",
            .vintage = "0.6.17 (2026-08) to 0.7.0.post1",
            .source = "wheels 0.6.17 to 0.7.0.post1",
            .summary = kLegacySummary,
            .bound_names = names_rt11(),
            .decide = decide_scan<scan_legacy>}),
      scan({.id = "flashinfer-legacy-rt10",
            .consumer = "flashinfer",
            .title = "FlashInfer up to 0.6.16",
            .vintage = "to 0.6.16.post4 (2026-08)",
            .source = "wheels 0.5.3 to 0.6.16.post4",
            .summary = kLegacySummary,
            .bound_names = names_rt10(),
            .decide = decide_scan<scan_legacy>}),
      scan({.id = "flashinfer-b12x",
            .consumer = "flashinfer",
            .title = "FlashInfer b12x (PCIe)",
            .vintage = "beside the main rule, 0.7.2 and later",
            .source = "wheels 0.7.2 to 0.7.4",
            .summary = "first maps line with libcudart anywhere, no look at the file name; only "
                       "when the experimental PCIe collectives are prepared",
            .bound_names = names_b12x(),
            .current = true,
            .since = "0.7.2",
            .decide = decide_b12x}),
      scan({.id = "flashinfer-5198-draft",
            .consumer = "flashinfer",
            .title = "FlashInfer #5198, draft",
            .vintage = "first form of pull 5198; in no release",
            .source = "text of pull 5198",
            .summary = "as flashinfer-2026-09, the hash is anything without a dot",
            .bound_names = names_rt11(),
            .released = false,
            .decide = decide_scan<scan_flashinfer_draft>}),
      scan({.id = "maps-anchored-hex",
            .consumer = "flashinfer",
            .title = "FlashInfer #3930, draft",
            .vintage = "pull 3930, not merged",
            .source = "text of pull 3930",
            .summary = "as flashinfer-2026-09, the hash in lower case only",
            .bound_names = names_rt10(),
            .released = false,
            .decide = decide_scan<scan_anchored_hex>}),
  };
}

}  // namespace

std::vector<Policy> scanning_policies() {
  std::vector<Policy> rows = vllm_rows();
  for (auto& more : {sglang_rows(), flashinfer_rows()}) {
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

}  // namespace cudart_doctor
