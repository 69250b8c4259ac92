#include "cudart_doctor/app/explain.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxQuoted = 60;  // Of a word that is not known.

Error unknown_word(const std::string& word, const std::vector<std::string>& near) {
  std::string message = "explain: '" + escape_foreign(word.substr(0, kMaxQuoted)) +
                        "' is no finding and no CUDA result code";
  if (near.empty()) {
    message += "; `cudart-doctor explain` lists the findings, `explain -` reads an error text";
  } else {
    message += "; near: " + join(near, ", ");
  }
  return {ErrorKind::usage, std::move(message), 0};
}

Result<ExplainPage> read_log(const World& world, std::chrono::steady_clock::time_point end) {
  LogReader reader;
  const auto read =
      world.read_input({kMaxLog, end}, [&reader](std::string_view bytes) { reader.feed(bytes); });
  if (!read) return tl::unexpected(read.error());
  return LogPage{reader.finish(), *read == InputEnd::cut};
}

}  // namespace

Result<ExplainPage> read_page(const Options& options, const World& world,
                              std::chrono::steady_clock::time_point end) {
  if (!options.subject) return FindingsPage{};
  if (*options.subject == "-") return read_log(world, end);
  const Explained word = look_up(*options.subject);
  if (word.finding != nullptr) return FindingPage{word.finding};
  if (word.code >= 0) return CodePage{word.code};
  return tl::unexpected(unknown_word(*options.subject, word.near));
}

RunEnd explain_end(const ExplainPage& page, const Report* report) {
  const auto* const log = std::get_if<LogPage>(&page);
  if (log != nullptr && log->answer.symptoms.empty()) return RunEnd::undecided;
  const bool lacks_probe = report != nullptr && report->snapshot.probe.required &&
                           report->probe_verdict.outcome == ProbeOutcome::not_run;
  return lacks_probe ? RunEnd::undecided : RunEnd::ok;
}

}  // namespace cudart_doctor
