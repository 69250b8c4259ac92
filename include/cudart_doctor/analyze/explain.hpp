// The tables behind `explain`: error texts with their causes, result codes with theirs. One text
// and one code have several causes; each names the finding that tells it from the others.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

struct Cause {
  std::string_view text;
  std::string_view finding = {};  ///< Id; empty where no finding stands for it.
};

/// Unused places of the tables are empty.
using Causes = std::array<Cause, 4>;

/// An error text that is known.
struct Signature {
  std::string_view id;
  /// A `*` stands for up to 512 bytes within the line, a `|` at an end for the end of a word;
  /// ASCII case does not count.
  std::array<std::string_view, 8> patterns;
  std::string_view meaning;
  std::string_view printed_by;
  std::string_view versions = {};  ///< Since when, until when; empty: not known, or all.
  Causes causes;
  std::string_view check;      ///< What to look at.
  std::string_view command;    ///< What confirms or clears the causes.
  std::string_view seen = {};  ///< Public reports: "vllm-project/vllm#47586".
};

/// Most specific first: a line of a log belongs to the first one that fits.
std::span<const Signature> signatures();

/// Whether the text of a code stands for CUDA alone or only behind "CUDA error" and the like.
enum class CodeText : std::uint8_t { alone, behind_cuda };

/// A result code that has to do with runtimes, the driver or sharing memory.
struct CodeEntry {
  int code = 0;
  std::string_view text;  ///< What cudaGetErrorString says, or its telling part.
  CodeText use = CodeText::alone;
  Causes causes;
};

/// Ascending by code.
std::span<const CodeEntry> code_entries();
/// nullptr where the code has no causes here.
const CodeEntry* find_code_entry(int code);

/// What a word of the command line stands for; the first of the three that is set counts.
struct Explained {
  const CatalogueEntry* finding = nullptr;
  int code = -1;  ///< A CUDA result code with a name; -1: none.
  /// Neither: known words that look like it, the nearest first.
  std::vector<std::string> near;
};

/// By id or slug; case does not count. nullptr when there is none.
const CatalogueEntry* find_finding(std::string_view word);

/// Ids and slugs that look like `word`, the nearest first.
std::vector<std::string> near_findings(std::string_view word);

/// Finding by id or slug, code by number or by either of its names; case does not count.
Explained look_up(std::string_view word);

/// Signatures with a cause that is this finding, in the order of the table.
std::vector<const Signature*> signatures_of(std::string_view finding);
/// Codes with a cause that is this finding, ascending.
std::vector<int> codes_of(std::string_view finding);

enum class StandingKind : std::uint8_t {
  confirmed,  ///< The finding stands in the report, as a warning or graver.
  noted,      ///< It stands as info only: something speaks for the cause, not enough.
  not_found,  ///< It does not, and everything that could show it was seen.
  unseen,     ///< It does not, but something that could show it was not seen.
  unchecked,  ///< No finding stands for this cause.
};

/// What an inspection says of one cause.
struct Standing {
  StandingKind kind = StandingKind::unchecked;
  std::string reason;  ///< Confirmed, noted: severity and headline; unseen: why. Printable.
};

Standing standing_of(std::string_view finding, const Report& report);

}  // namespace cudart_doctor
