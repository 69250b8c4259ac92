// What the workers of `tree` and `--all` hand back: one process, and the digest of its report.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/tree.hpp"

namespace cudart_doctor {

struct ProcessAnswer {
  NodeProcess process;
  std::string host;
  std::optional<ReportDigest> digest;  ///< Of a judged process.
  Environment naming;                  ///< With --redact: variables that name users.
};

/// A command line is cut behind 4 KiB: one may have two megabytes, and there are many.
std::string write_answer(ProcessAnswer answer);
/// Errors: malformed.
Result<ProcessAnswer> parse_answer(std::string_view bytes);

}  // namespace cudart_doctor
