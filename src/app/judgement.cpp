#include "cudart_doctor/app/judgement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cudart_doctor/base/text_fields.hpp"
#include "cudart_doctor/collect/bundle.hpp"

namespace cudart_doctor {
namespace {

int rank(RunEnd end) {
  switch (end) {
    case RunEnd::findings: return 3;
    case RunEnd::usage:
    case RunEnd::undecided: return 2;
    case RunEnd::warned: return 1;
    case RunEnd::ok: return 0;
  }
  return 0;
}

int rank(const std::optional<Severity>& worst) { return worst ? 1 + int(*worst) : 0; }

}  // namespace

std::uint64_t mapped_runtimes(const Report& report) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(report.candidates, [](const Candidate& each) { return each.loaded; }));
}

Judgement judgement_of(Report report) {
  Judgement out;
  out.end = report.verdict.end;
  out.worst = report.verdict.worst;
  out.undecided = report.verdict.undecided;
  out.runtimes = mapped_runtimes(report);
  for (const Finding& finding : report.findings) {
    if (!finding.allowed.empty()) continue;
    if (out.headline.empty()) out.headline = finding.headline;
    if (std::ranges::count(out.findings, finding.id) == 0) out.findings.push_back(finding.id);
  }
  out.maps = std::move(report.snapshot.maps.text);
  report.snapshot.maps = {};
  out.snapshot = snapshot_to_json(report.snapshot);
  return out;
}

std::string write_judgement(const Judgement& judgement) {
  FieldWriter out;
  out.put(judgement.failure);
  out.put_number(std::uint64_t(judgement.end));
  out.put_number(std::uint64_t(rank(judgement.worst)));
  out.put_number(judgement.runtimes);
  out.put_list(judgement.findings);
  out.put(judgement.headline);
  out.put(judgement.undecided);
  out.put(judgement.snapshot);
  out.put(judgement.maps);
  return out.take();
}

Result<Judgement> parse_judgement(std::string_view bytes) {
  FieldReader texts(bytes);
  Judgement out;
  out.failure = texts.text();
  out.end = static_cast<RunEnd>(texts.number(std::uint64_t(RunEnd::undecided)));
  const std::uint64_t worst = texts.number(1 + std::uint64_t(Severity::critical));
  if (worst != 0) out.worst = static_cast<Severity>(worst - 1);
  out.runtimes = texts.number(UINT64_MAX);
  out.findings = texts.list();
  out.headline = texts.text();
  out.undecided = texts.text();
  out.snapshot = texts.text();
  out.maps = texts.text();
  if (!texts.ended_well()) return fail(ErrorKind::malformed, "the look's answer is not whole");
  return out;
}

bool is_graver(const Judgement& a, const Judgement& b) {
  const auto key = [](const Judgement& each) {
    return std::tuple(rank(each.end), rank(each.worst), each.runtimes != 0);
  };
  return key(a) > key(b);
}

}  // namespace cudart_doctor
