// What a word of the command line stands for, and which known words look like it.
#include <algorithm>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/base/text.hpp"
#include "near_words.hpp"

namespace cudart_doctor {
namespace {

constexpr int kLastCode = 999;

bool has_name(int code) {
  return !cuda_runtime_code_name(code).empty() || !cuda_driver_code_name(code).empty();
}

void offer_findings(NearWords& near) {
  for (const CatalogueEntry& entry : catalogue()) {
    near.offer(entry.id);
    near.offer(entry.slug);
  }
}

std::vector<std::string> near_words(std::string_view word) {
  NearWords near(word);
  offer_findings(near);
  for (int code = 0; code <= kLastCode; ++code) {
    near.offer(cuda_runtime_code_name(code));
    near.offer(cuda_driver_code_name(code));
  }
  return near.take();
}

bool names(const Causes& causes, std::string_view finding) {
  return std::ranges::any_of(causes,
                             [finding](const Cause& cause) { return cause.finding == finding; });
}

}  // namespace

const CatalogueEntry* find_finding(std::string_view word) {
  const std::string wanted = folded(word);
  for (const CatalogueEntry& entry : catalogue()) {
    if (folded(entry.id) == wanted || entry.slug == wanted) return &entry;
  }
  return nullptr;
}

std::vector<std::string> near_findings(std::string_view word) {
  NearWords near(word);
  offer_findings(near);
  return near.take();
}

Explained look_up(std::string_view word) {
  Explained out;
  out.finding = find_finding(word);
  if (out.finding != nullptr) return out;
  const std::string wanted = folded(word);
  const auto number = parse_unsigned(word, 10);
  for (int code = 0; code <= kLastCode; ++code) {
    const bool by_number = number && *number == static_cast<std::uint64_t>(code);
    const bool by_name = !wanted.empty() && (folded(cuda_runtime_code_name(code)) == wanted ||
                                             folded(cuda_driver_code_name(code)) == wanted);
    if ((by_number || by_name) && has_name(code)) {
      out.code = code;
      return out;
    }
  }
  out.near = near_words(word);
  return out;
}

std::vector<const Signature*> signatures_of(std::string_view finding) {
  std::vector<const Signature*> out;
  for (const Signature& signature : signatures()) {
    if (names(signature.causes, finding)) out.push_back(&signature);
  }
  return out;
}

std::vector<int> codes_of(std::string_view finding) {
  std::vector<int> out;
  for (const CodeEntry& entry : code_entries()) {
    if (names(entry.causes, finding)) out.push_back(entry.code);
  }
  return out;
}

}  // namespace cudart_doctor
