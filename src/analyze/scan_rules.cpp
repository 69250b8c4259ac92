#include "cudart_doctor/analyze/scan_rules.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kName = "libcudart";

bool has_name(const PythonLine& line) { return line.text.find(kName) != std::string_view::npos; }

/// What a step calls the line: its path, else what stands in the path's place.
std::string_view subject_of(std::string_view line) {
  if (const auto path = line_path(line)) return *path;
  const std::size_t blank = line.find_last_of(' ');
  return blank == std::string_view::npos ? line : line.substr(blank + 1);
}

ScanAnswer select(const PythonLine& line, std::string_view path) {
  return {Outcome::selected, std::string(path), line.row};
}

enum class FileNameCheck : std::uint8_t { asserted, none };

ScanAnswer scan_first_line(std::span<const PythonLine> lines, StepLog& log, FileNameCheck check) {
  for (const PythonLine& line : lines) {
    const std::string_view subject = subject_of(line.text);
    if (!has_name(line)) {
      log.add(subject, StepVerdict::rejected, "the line does not contain libcudart");
      continue;
    }
    const auto path = line_path(line.text);
    if (!path) {
      log.add(subject, StepVerdict::rejected,
              "the first line that contains libcudart has no '/': the rule's own search for one "
              "fails");
      return {Outcome::no_path, {}, line.row};
    }
    const std::string_view base = base_name(*path);
    if (check == FileNameCheck::asserted && !stem_before_so(base).starts_with(kName)) {
      log.add(subject, StepVerdict::rejected,
              "the first line that contains libcudart, but the file name up to its last .so does "
              "not begin with it: the rule's own assertion fails");
      return {Outcome::unexpected_filename, std::string(base), line.row};
    }
    log.add(subject, StepVerdict::taken,
            "the first line, in address order, that contains libcudart");
    return select(line, *path);
  }
  return {};
}

using AcceptBase = bool (*)(std::string_view base);

struct BaseRule {
  AcceptBase accepts;
  std::string_view yes;
  std::string_view no;
};

/// First line with a '/' whose file name passes.
ScanAnswer scan_first_base(std::span<const PythonLine> lines, StepLog& log, const BaseRule& rule) {
  for (const PythonLine& line : lines) {
    const auto path = line_path(line.text);
    if (!path) {
      log.add(subject_of(line.text), StepVerdict::rejected, "no '/' in the line: skipped");
    } else if (!rule.accepts(base_name(*path))) {
      log.add(*path, StepVerdict::rejected, rule.no);
    } else {
      log.add(*path, StepVerdict::taken, rule.yes);
      return select(line, *path);
    }
  }
  return {};
}

bool accepts_vllm(std::string_view base) {
  return base.starts_with("libcudart.") || base.starts_with("libcudart-");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_hex(char c) { return is_lower_hex(c) || (c >= 'A' && c <= 'F'); }
bool is_no_dot(char c) { return c != '.'; }

/// libcudart, optionally '-' and one or more characters of a class, ".so", any number of ".N".
template <bool (*kHash)(char)>
bool accepts_anchored(std::string_view base) {
  if (!base.starts_with(kName)) return false;
  base.remove_prefix(kName.size());
  if (base.starts_with('-')) {
    base.remove_prefix(1);
    const auto end = std::find_if_not(base.begin(), base.end(), kHash);
    if (end == base.begin()) return false;
    base.remove_prefix(static_cast<std::size_t>(end - base.begin()));
  }
  if (!base.starts_with(".so")) return false;
  base.remove_prefix(3);
  while (base.size() > 1 && base.front() == '.' && is_digit(base[1])) {
    base.remove_prefix(1);
    const auto end = std::find_if_not(base.begin(), base.end(), is_digit);
    base.remove_prefix(static_cast<std::size_t>(end - base.begin()));
  }
  return base.empty();
}

constexpr std::string_view kAnchoredYes = "the first line whose whole file name matches";

enum class DeletedMark : std::uint8_t { cut, kept };

ScanAnswer scan_all(std::span<const PythonLine> lines, StepLog& log, DeletedMark mark) {
  std::vector<ScanAnswer> kept;
  for (const PythonLine& line : lines) {
    if (!has_name(line)) {
      log.add(subject_of(line.text), StepVerdict::rejected, "the line does not contain libcudart");
      continue;
    }
    auto path = line_path(line.text);
    if (!path) {
      log.add(subject_of(line.text), StepVerdict::rejected, "no '/' in the line: skipped");
      continue;
    }
    if (mark == DeletedMark::cut) path = cut_deleted_mark(*path);
    if (!stem_before_so(base_name(*path)).starts_with(kName)) {
      log.add(*path, StepVerdict::rejected,
              "the file name up to its last .so does not begin with libcudart: skipped");
      continue;
    }
    kept.push_back(select(line, *path));
  }
  const auto best = std::find_if(kept.begin(), kept.end(), [](const ScanAnswer& answer) {
    return base_name(answer.text).find("stub") == std::string_view::npos;
  });
  for (const ScanAnswer& answer : kept) {
    if (best != kept.end() && answer.row == best->row && answer.text == best->text) {
      log.add(answer.text, StepVerdict::taken, "the first kept file name without \"stub\"");
    } else if (best == kept.end() && &answer == &kept.front()) {
      log.add(answer.text, StepVerdict::taken,
              "every kept file name has \"stub\" in it: the first is the fallback");
    } else if (base_name(answer.text).find("stub") != std::string_view::npos) {
      log.add(answer.text, StepVerdict::rejected,
              "\"stub\" in the file name: taken only where nothing else is there");
    } else if (answer.text != best->text) {
      log.add(answer.text, StepVerdict::rejected, "behind the first one, in address order");
    }
  }
  if (kept.empty()) return {};
  return best != kept.end() ? *best : kept.front();
}

}  // namespace

ScanAnswer scan_legacy(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_line(lines, log, FileNameCheck::asserted);
}

ScanAnswer scan_b12x(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_line(lines, log, FileNameCheck::none);
}

ScanAnswer scan_vllm(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_base(
      lines, log,
      {accepts_vllm, "the first line whose file name begins with libcudart. or libcudart-",
       "the file name begins neither with libcudart. nor with libcudart-: skipped"});
}

ScanAnswer scan_sglang(std::span<const PythonLine> lines, StepLog& log) {
  return scan_all(lines, log, DeletedMark::cut);
}

ScanAnswer scan_sglang_draft(std::span<const PythonLine> lines, StepLog& log) {
  return scan_all(lines, log, DeletedMark::kept);
}

ScanAnswer scan_flashinfer(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_base(lines, log,
                         {accepts_anchored<is_hex>, kAnchoredYes,
                          "the file name is not libcudart[-hexadecimal].so[.N...]: skipped"});
}

ScanAnswer scan_flashinfer_draft(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_base(lines, log,
                         {accepts_anchored<is_no_dot>, kAnchoredYes,
                          "the file name is not libcudart[-word].so[.N...]: skipped"});
}

ScanAnswer scan_anchored_hex(std::span<const PythonLine> lines, StepLog& log) {
  return scan_first_base(
      lines, log,
      {accepts_anchored<is_lower_hex>, kAnchoredYes,
       "the file name is not libcudart[-lower-case hexadecimal].so[.N...]: skipped"});
}

}  // namespace cudart_doctor
