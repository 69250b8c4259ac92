// Facts that both the text and the JSON report derive from the model: short references to the
// runtimes, the process's title, what an answer of a rule amounts to, the headline sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// A short name for every candidate, in its order: "A", "B", ... "Z", "AA" for what could be
/// selected, "S1", "S2" for static copies, which cannot.
std::vector<std::string> candidate_refs(const Report& report);

/// The mapped object of a candidate or companion; nullptr when it is only on disk.
const LoadedObject* object_of(const Report& report, std::optional<std::size_t> index);

/// The candidate that a rule's answer ends at.
std::optional<std::size_t> candidate_of(const Report& report, const Selection& selection);

/// The PID that the process has in its own PID namespace; nothing where it was not read.
std::optional<std::int64_t> inner_pid(const ProcessFacts& process);

/// The GPUs of the process, as far as they were seen.
struct ProcessGpus {
  std::vector<std::string> uuids;  ///< "GPU-cc1d84a2-...", as bytes.
  /// How they are known: "in use by it", "visible to it", "CUDA_VISIBLE_DEVICES"; "": not known.
  std::string_view from;
};
ProcessGpus gpus_of(const Snapshot& snapshot);

/// The command line in short, printable and without secrets; the short name where it is unknown.
std::string process_title(const ProcessFacts& process);

/// What an answer amounts to for the consumer.
enum class AnswerResult : std::uint8_t {
  ok,        ///< Opened and complete, as far as symbols tell.
  fails,     ///< The consumer gets an error or an incomplete library.
  unproven,  ///< Something that decides could not be read.
  nothing,   ///< The rule ends without a runtime and without an error, or does not apply.
};

std::string_view name_of(AnswerResult value);

AnswerResult result_of(const Selection& selection);

/// The selection that the headline follows; nullptr when it is not in the report.
const Selection* headline_selection(const Report& report);

/// "FlashInfer 0.6.14" where the installed version follows this rule, else the rule's title.
std::string selection_title(const Report& report, const Selection& selection);

/// The answer in one sentence: the gravest finding, else what the headline's rule takes.
std::string headline_sentence(const Report& report);

/// True when the report's first line carries a finding: a warning or more, or one that fails.
bool leads_with_finding(const Report& report);

/// How many findings count; they come first.
std::size_t count_counted(const Report& report);

/// "1 critical", "2 warnings", "1 info": of the findings that count, gravest first; then "1
/// allowed". Empty without a finding.
std::vector<std::string> finding_counts(const Report& report);

/// "2 warnings", "2 errors", but "2 critical", "2 info".
std::string severity_count(std::uint64_t count, Severity severity);

/// "libcudart 12.8", "a file that only has the name": what a candidate is, in a sentence.
std::string candidate_phrase(const Candidate& candidate);

}  // namespace cudart_doctor
