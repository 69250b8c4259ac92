// Selection: what one consumer's rule would take, and every reason on the way. Three answers are
// kept apart: selected, openable, symbols complete. In most real bugs they differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/candidate.hpp"

namespace cudart_doctor {

enum class Outcome : std::uint8_t {
  selected,             ///< `chosen_text` was taken.
  none,                 ///< Nothing matched: "libcudart is not loaded".
  unexpected_filename,  ///< The rule's own assertion on the file name aborts (ASSERT).
  no_path,              ///< The hit line has no '/' (VALUE): ValueError.
  not_found,            ///< The loader finds nothing for the wanted name.
  multiple,             ///< cuDNN's front end: two majors open.
  aborts,               ///< The rule ends in abort() (TileLang's resolver).
  undetermined,    ///< Cannot be decided from outside; `candidates_possible` says between what.
  not_applicable,  ///< The rule has nothing to do here (no such consumer code mapped).
};

/// What opening the chosen text would give.
enum class OpenOutcome : std::uint8_t {
  not_asked,   ///< Nothing was selected.
  old_object,  ///< OPEN-OLD: the already mapped object.
  fails,       ///< OPEN-FAIL.
  new_object,  ///< OPEN-NEW: a second object is mapped.
  loads,       ///< Not mapped yet; a fresh load of a file on disk.
  unknown,     ///< The link map or the file could not be read.
};

enum class StepVerdict : std::uint8_t { taken, rejected, noted };

/// One thing that the rule looked at, recorded when the decision was made.
struct Step {
  std::string subject;  ///< A path, a name, a variable; as bytes.
  StepVerdict verdict = StepVerdict::noted;
  std::string reason;
};

enum class Stability : std::uint8_t {
  stable,           ///< No other order of addresses gives another answer.
  order_dependent,  ///< `other_answers` lists what other orders give.
  not_by_address,   ///< The rule does not look at addresses.
};

struct Selection {
  std::string policy;  ///< Policy id; the row of the table is in analyze/policy.hpp.
  Outcome outcome = Outcome::none;
  std::string chosen_text;               ///< The text that the consumer opens, as bytes.
  std::optional<std::size_t> object;     ///< The mapped object that the answer ends at.
  std::optional<std::string> disk_path;  ///< The file on disk that the answer ends at.
  OpenOutcome open = OpenOutcome::not_asked;
  std::string open_note;             ///< Why, in one sentence.
  std::vector<std::string> missing;  ///< Bound names that the opened object lacks, bind order.
  bool missing_known = false;        ///< The object's symbols could be read.
  /// Names of a profile of which nobody knows whether the object has them: no snapshot records
  /// them.
  std::vector<std::string> unrecorded;
  std::string error_text;  ///< What the consumer prints if it fails; "" if it works.
  std::string error_type;  ///< Exception class of it ("AttributeError"), may be "".
  std::vector<Step> steps;
  Stability stability = Stability::not_by_address;
  std::vector<std::string> other_answers;  ///< Paths or outcomes, each once.
  std::vector<std::string> possible;       ///< For undetermined: between what.
  Presence presence = Presence::unknown;   ///< Of the consumer, in this vintage.
  std::string presence_note;               ///< "SGLang 0.5.9", "another vintage is installed".

  /// The row of the policy table, copied so that a renderer needs nothing but the report.
  std::string title;        ///< "FlashInfer after #5198"
  std::string consumer;     ///< Consumer id ("flashinfer"); empty for a plain loader rule.
  std::string vintage;      ///< "from pull 5198 (2026-09)"
  std::string source;       ///< Where the rule was read.
  bool current = false;     ///< The consumer's present rule, else an older vintage.
  bool preload = false;     ///< It opens a runtime for others and binds nothing itself.
  std::uint32_t bound = 0;  ///< How many names it binds eagerly; 0: by need.

  /// True when the consumer would end with an object that it can open and bind.
  [[nodiscard]] bool works() const {
    return outcome == Outcome::selected && open != OpenOutcome::fails && missing.empty() &&
           error_text.empty();
  }
};

}  // namespace cudart_doctor
