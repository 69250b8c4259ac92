// What a look at one process of a launch came to, and its way from the job that looked to the
// launcher. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

struct Judgement {
  std::string failure;  ///< Why it was not judged, printable; "" where it was.
  RunEnd end = RunEnd::ok;
  std::optional<Severity> worst;
  std::uint64_t runtimes = 0;         ///< Candidates that are mapped.
  std::vector<std::string> findings;  ///< Ids of those that count, gravest first, each once.
  std::string headline;               ///< Of the first of them.
  std::string undecided;
  std::string snapshot;  ///< As snapshot_to_json.
  std::string maps;      ///< Its text of maps.
};

/// How many candidates of a report are mapped.
std::uint64_t mapped_runtimes(const Report& report);

/// Of a judged report.
Judgement judgement_of(Report report);

std::string write_judgement(const Judgement& judgement);
/// Errors: malformed.
Result<Judgement> parse_judgement(std::string_view bytes);

/// Whether `a` is graver than `b`: what counts, then what could not be decided, then the severity,
/// then whether there is a runtime at all.
bool is_graver(const Judgement& a, const Judgement& b);

}  // namespace cudart_doctor
