// How findings speak of the scanning rules: who would do something, under which condition, with
// which error, and which release would not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/rules.hpp"

namespace cudart_doctor {

using Rows = std::vector<const Selection*>;

/// The address-ordered rows: those that count in full (present consumers before unknown ones), then
/// side rules, then absent consumers; each in the order of the table.
Rows scanning_rows(const Observations& seen);

/// Of `rows`, those that are like the first: present or not, counting in full or not. No rows give
/// no rows.
Rows leading_rows(const Rows& rows);

/// The candidate that a row's answer is; nullptr where it is none.
const Candidate* candidate_of(const Observations& seen, const Selection& row);

/// "FlashInfer 0.6.14", "vLLM before 0.26.0 or SGLang before 0.5.16": who the rows belong to.
std::string subject_of(const Rows& rows, std::string_view conjunction);

/// "FlashInfer 0.6.14 PREDICATE." for present consumers, "If vLLM before 0.26.0 runs here, it
/// PREDICATE." for unknown ones, "If FlashInfer 0.6.15.dev1, vintage not known, scans like ..., it
/// PREDICATE." where the consumer is here in an unknown vintage. `rows` are leading rows, not
/// empty.
std::string sentence_about(const Rows& rows, std::string_view predicate);

/// What each row answers, errors in the consumer's own words; equal answers in one sentence.
std::vector<std::string> answer_sentences(const Rows& rows);

/// How a failed binding shows, for the consumers behind `rows`.
std::string failure_effect_of(const Rows& rows);

/// Releases that replaced the rules in `rows`, where `helps` holds for the replacement's own answer
/// in this process; joined by commas, empty where none helps.
std::string helpful_releases(const Observations& seen, const Rows& rows,
                             bool (*helps)(const Observations& seen, const Selection& row));

/// Why the override variable does not help the consumers behind `rows`, each once.
std::vector<std::string> futile_overrides(const Rows& rows);

/// Who brought a candidate, which is one of `seen`; nullptr where that was not asked.
const Provenance* provenance_of(const Observations& seen, const Candidate& candidate);

/// Who brought a candidate and whose slots point into it: "needed by libtorch_cuda.so", "used by
/// libc10_cuda.so (12 names) and 3 more"; nothing where nobody is known.
std::vector<std::string> user_phrases(const Observations& seen, const Candidate& candidate);
/// "libtorch_cuda.so (12 names) and 3 more", those with most names first; "" for none.
std::string slot_users(const Snapshot& snapshot, const std::vector<SlotUse>& uses);

/// "TileLang's shim libcudart_stub.so", "the stand-in libcudart.so.12".
std::string look_alike_phrase(const Candidate& candidate);

/// "TileLang 0.1.12 or later: no rule takes its renamed stub", or to upgrade or remove the package
/// that owns it.
std::string look_alike_remedy(const Snapshot& snapshot, const Candidate& candidate);

void append(std::vector<std::string>& to, std::vector<std::string> more);

/// "a, b and c"
std::string listed(const std::vector<std::string>& items, std::string_view conjunction);

/// The steps for a mapped object whose file was deleted or replaced, in order.
std::vector<std::string> lost_file_remedies(const Observations& seen, std::size_t object);

/// "nvidia-cuda-runtime-cu12 12.8.90", or the path where no package is known to own it.
std::string origin_phrase(const Candidate& candidate);

}  // namespace cudart_doctor
