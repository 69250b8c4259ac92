#include "cudart_doctor/app/judgement.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"

namespace cudart_doctor {
namespace {

/// Texts, each with its size and a colon before it.
void put(std::string& out, std::string_view text) {
  out.append(std::to_string(text.size())).append(":").append(text);
}

class Texts {
 public:
  explicit Texts(std::string_view bytes) : rest_(bytes) {}
  std::string next() {
    const std::size_t colon = rest_.find(':');
    const auto size = parse_unsigned(rest_.substr(0, colon), 10);
    if (colon == std::string_view::npos || !size || *size > rest_.size() - colon - 1) {
      sound_ = false;
      return {};
    }
    const auto text = rest_.substr(colon + 1, static_cast<std::size_t>(*size));
    rest_.remove_prefix(colon + 1 + text.size());
    return std::string(text);
  }
  std::uint64_t number(std::uint64_t most) {
    const auto value = parse_unsigned(next(), 10);
    if (!value || *value > most) sound_ = false;
    return sound_ ? *value : 0;
  }
  /// Nothing was wrong, and nothing is left.
  [[nodiscard]] bool ended_well() const { return sound_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = true;
};

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

Judgement judgement_of(Report report) {
  Judgement out;
  out.end = report.verdict.end;
  out.worst = report.verdict.worst;
  out.undecided = report.verdict.undecided;
  out.runtimes = static_cast<std::uint64_t>(
      std::ranges::count_if(report.candidates, [](const Candidate& each) { return each.loaded; }));
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
  std::string out;
  put(out, judgement.failure);
  put(out, std::to_string(int(judgement.end)));
  put(out, std::to_string(rank(judgement.worst)));
  put(out, std::to_string(judgement.runtimes));
  put(out, join(judgement.findings, " "));
  put(out, judgement.headline);
  put(out, judgement.undecided);
  put(out, judgement.snapshot);
  put(out, judgement.maps);
  return out;
}

Result<Judgement> parse_judgement(std::string_view bytes) {
  Texts texts(bytes);
  Judgement out;
  out.failure = texts.next();
  out.end = static_cast<RunEnd>(texts.number(std::uint64_t(RunEnd::undecided)));
  const std::uint64_t worst = texts.number(1 + std::uint64_t(Severity::critical));
  if (worst != 0) out.worst = static_cast<Severity>(worst - 1);
  out.runtimes = texts.number(UINT64_MAX);
  const std::string findings = texts.next();
  for (const auto id : split(findings, ' ')) {
    if (!id.empty()) out.findings.emplace_back(id);
  }
  out.headline = texts.next();
  out.undecided = texts.next();
  out.snapshot = texts.next();
  out.maps = texts.next();
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
