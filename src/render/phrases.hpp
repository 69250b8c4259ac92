// What several formats say in the same words: marks, rows and sentences about the parts of a
// report. All of it is printable, none of it is laid out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/style.hpp"

namespace cudart_doctor {

/// A word that may be coloured: "REAL", "FAIL", "not run".
struct Mark {
  std::string_view word;
  Tone tone = Tone::plain;
};

/// How much of a list is told.
enum class Detail : std::uint8_t { brief, full };

Mark mark_of(RuntimeKind kind);
Mark mark_of(ProbeOutcome outcome);
Mark mark_of(StageOutcome outcome);

/// Lower-case hexadecimal digits without "0x".
std::string hex(std::uint64_t value);

/// What is known of the candidate with this index besides its kind and path, parts between "; ".
std::string candidate_details(const Report& report, std::size_t index, Detail detail);

/// "10 static copies (12.2, 13.0) in libcufile.so.0 and 9 more: private, not selectable"; "" for
/// none.
std::string static_copies_text(const Report& report, Detail detail);

/// The driver and what else goes with it: "libcuda.so.1 580.65.06, genuine; kernel module ...".
/// Brief: drivers, and of the others those that are not genuine.
std::vector<std::string> companion_lines(const Report& report, Detail detail);

/// One row of the table of who takes what.
struct AnswerRow {
  const Selection* selection = nullptr;
  std::string title{};
  std::string where{};   ///< A runtime's letter, or a word.
  std::string result{};  ///< "ok", "FAIL", "?" or "-"
  Tone tone = Tone::plain;
  std::string why{};  ///< Begins with ", " or " "; may be empty.
};

AnswerRow answer_row(const Report& report, const Selection& selection,
                     const std::vector<std::string>& refs);

/// The rules that are told unasked, in their order: of what is present, the headline's, those that
/// would fail if somebody used them (of consumers that nobody can say are here, so many).
std::vector<const Selection*> telling_selections(const Report& report,
                                                 std::size_t most_unknown = 4);

/// "image, not node: do not drain"
std::string_view owner_advice(Owner owner);
/// The same of a report's first finding, which must not call a node well that another finding blames.
std::string owner_advice(const Report& report);

/// "1 critical, 2 warnings; 1 at or above --fail-on error"
std::string exit_reason(const Report& report);

/// "CUDA IPC memory handle"
std::string_view title_of(Mechanism mechanism);
/// A card that does not offer it is none the worse.
bool is_optional(Mechanism mechanism);

/// "ipc_import (importer) GPU 0"
std::string stage_place(const StageResult& stage);
/// The call, its code, and what was seen; "" where there is nothing to add.
std::string stage_facts(const StageResult& stage);

/// What was not seen, one sentence each.
std::vector<std::string> unseen(const Report& report, Detail detail);

/// "412 of 412 objects; environment as of exec; 2026-09-30T03:12:45Z"
std::string read_text(const Report& report);

}  // namespace cudart_doctor
