// Reports put together by hand for the tests of the renderers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor::testing {

/// FlashInfer would take TileLang's shim: the incident that the text report was drawn for.
Report critical_report();
/// The same, with that finding allowed, and another whose permission ended.
Report allowed_report();
/// One genuine runtime, nothing wrong, no consumer found.
Report healthy_report();
/// "Self": the environment alone, with a mixed-major warning.
Report environment_report();
/// No permission: exit 3.
Report unreadable_report();
/// Read completely, and nothing of CUDA in it.
Report empty_report();
/// Replaced, deleted and static copies, many installed files, companions of every sort.
Report crowded_report();
/// A probe that passed; one whose import failed; one that was not run beside a live server.
Report probed_report();
Report failed_probe_report();
Report refused_probe_report();
/// A command that loaded the shim: the story, several processes and one that is odd.
Report recorded_report();
/// A command of which no process was judged.
Report nobody_report();
/// Every foreign text is `text`, every sentence embeds it escaped.
Report hostile_report(const std::string& text);

/// Texts that a terminal or a parser must never see raw.
std::vector<std::string> nasty_texts();

/// All of the above with a name that is fit for a file.
std::vector<std::pair<std::string, Report>> all_reports();

}  // namespace cudart_doctor::testing
