// From the witnesses to a kind. The order is that of certainty: what cannot be read, what is
// complete, what is private, what is a part, what only bears the name.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/base/text.hpp"
#include "runtime_evidence.hpp"
#include "runtime_signs.hpp"
#include "tilelang_shim.hpp"

namespace cudart_doctor {
namespace {

void settle_genuine(Candidate& candidate, const RuntimeInput& in) {
  candidate.kind = RuntimeKind::genuine;
  say_exports(candidate, in.signs);
  say_node(candidate, in.signs);
  say_code(candidate, in);
  fill_version(candidate, in.signs);
  fill_soname(candidate, in);
  say_damage(candidate, in.elf);
}

void settle_undetermined(Candidate& candidate, const RuntimeInput& in, std::string label) {
  candidate.kind = RuntimeKind::undetermined;
  candidate.label = std::move(label);
  say_exports(candidate, in.signs);
  say_node(candidate, in.signs);
  say_code(candidate, in);
  say_damage(candidate, in.elf);
}

void settle_stand_in(Candidate& candidate, const RuntimeInput& in) {
  candidate.kind = RuntimeKind::stand_in;
  candidate.label = "stand-in";
  for (const std::string& needed : in.signs.foreign_needs) {
    if (needed.starts_with("libgvirtus")) candidate.label = "GVirtuS";
    say(candidate, "needs " + shown(needed) + ", a runtime does not");
  }
  if (has_marker(in.content, "cuda stub: not supported")) {
    candidate.label = "OvenMediaEngine stub";
    say(candidate, "text of OvenMediaEngine's stub found");
  }
  if (has_marker(in.content, "GPU will not be used.")) {
    candidate.label = "XLA stub";
    say(candidate, "text of XLA's loading stub found");
  }
  say_exports(candidate, in.signs);
  say_node(candidate, in.signs);
  say_code(candidate, in);
}

// All of the API. NVIDIA's runtime has a version node; its code and texts confirm it where they
// could be searched. One sign alone proves nothing: a stub with the right node exists.
void judge_full_api(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  const bool node_and_code_agree =
      signs.constant && signs.node_major == static_cast<int>(*signs.constant / 1000);
  if (signs.has_runtime_code()) {
    if (!signs.node || !node_and_code_agree)
      return settle_undetermined(candidate, in, "signs disagree");
    return settle_genuine(candidate, in);
  }
  if (!signs.node || !signs.foreign_needs.empty()) return settle_stand_in(candidate, in);
  // A compiler may write the version in a way that is not looked for: all the rest must be there.
  const bool only_constant_lacks = signs.yardstick == 4 && !signs.constants_disagree;
  if (!signs.content_seen || only_constant_lacks) return settle_genuine(candidate, in);
  if (signs.constant || signs.constants_disagree || signs.yardstick != 0) {
    return settle_undetermined(candidate, in, "signs disagree");
  }
  settle_stand_in(candidate, in);
}

// Names of the runtime's API that the rest of the program knows. An object may export functions
// of its own whose names begin with cuda (and __cudaRegisterLinkedBinary* of its device link).
bool exports_known_name(const std::vector<std::string>& exports) {
  static constexpr std::array<std::string_view, 8> kOthers = {
      "__cudaRegisterFatBinary", "__cudaRegisterFunction", "cudaGetExportTable",
      "cudaHostAlloc",           "cudaLaunchKernel",       "cudaLaunchKernelExC",
      "cudaMallocAsync",         "cudaRuntimeGetVersion"};
  const auto known = [](std::string_view name) {
    for (const auto list : {names_rt11(), names_tilelang(), names_cudnn_frontend()}) {
      if (std::find(list.begin(), list.end(), name) != list.end()) return true;
    }
    return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
  };
  return std::any_of(exports.begin(), exports.end(), known);
}

void judge_part_of_api(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  if (signs.exported < kPartialExports) {
    const TilelangShim shim = inspect_tilelang_shim(in.path, in.elf, in.content);
    if (shim.is_shim && !signs.node) {
      candidate.kind = RuntimeKind::shim;
      candidate.label = "TileLang shim";
      say_exports(candidate, signs);
      candidate.evidence.insert(candidate.evidence.end(), shim.evidence.begin(),
                                shim.evidence.end());
      return;
    }
  }
  if (signs.node && signs.has_runtime_code())
    return settle_undetermined(candidate, in, "signs disagree");
  if (!signs.claims_the_name() && !signs.node) {
    if (!exports_known_name(in.elf.exports)) {
      candidate.kind = RuntimeKind::not_a_runtime;
      if (signs.name_has_cudart) say(candidate, "only the file name says cudart");
      return;
    }
    settle_stand_in(candidate, in);
    if (candidate.label == "stand-in" && signs.exported < kPartialExports)
      candidate.label = "interposer";
    return;
  }
  // A public name or node promises the whole API; any other name that begins with libcudart does
  // not.
  if (signs.node || signs.soname || signs.name || signs.exported >= kPartialExports) {
    return settle_stand_in(candidate, in);
  }
  candidate.kind = RuntimeKind::stub;
  candidate.label = "partial stub";
  say_exports(candidate, signs);
  say_node(candidate, signs);
  say_code(candidate, in);
}

bool may_hold_static_copy(const ElfFacts& elf, std::string_view base) {
  return elf.device_code_sections.value_or(true) || base.starts_with("libcu") ||
         base.starts_with("libnv");
}

void judge_no_api(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  const bool bears_name = signs.claims_the_name() || signs.node;
  if (signs.has_runtime_code()) {
    if (bears_name) return settle_undetermined(candidate, in, "signs disagree");
    candidate.kind = RuntimeKind::static_copy;
    candidate.label = "static copy";
    fill_version(candidate, signs);
    say_code(candidate, in);
    return say(candidate, "exports no runtime function: private, not selectable");
  }
  if (bears_name) {
    candidate.kind = RuntimeKind::stub;
    candidate.label = "empty stub";
    say_exports(candidate, signs);
    say_node(candidate, signs);
    return say_code(candidate, in);
  }
  if (signs.yardstick == 4 && may_hold_static_copy(in.elf, signs.base)) {
    return settle_undetermined(candidate, in, "static copy?");
  }
  candidate.kind = RuntimeKind::not_a_runtime;
  if (signs.name_has_cudart) {
    say(candidate, "only the file name says cudart");
    say_exports(candidate, signs);
  }
}

void judge(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  const bool suspect = signs.claims_the_name() || signs.node || signs.name_has_cudart;
  if (signs.is_cut && suspect) {
    say(candidate, "file has " + std::to_string(in.elf.file_size) + " bytes, its segments need " +
                       std::to_string(in.elf.required_size));
    return settle_undetermined(candidate, in, "cut file");
  }
  if (!in.elf.has_dynamic && suspect) {
    say(candidate, "no dynamic section: nothing that a loader would take");
    return settle_undetermined(candidate, in, "no library");
  }
  // A look-up by hash that found nothing is as good as a list for "exports no runtime function".
  if (!signs.exports_known && (in.elf.exports_api || suspect)) {
    candidate.kind = suspect ? RuntimeKind::undetermined : RuntimeKind::not_a_runtime;
    if (suspect) settle_undetermined(candidate, in, "not read");
    return;
  }
  if (signs.exported >= kGenuineExports) return judge_full_api(candidate, in);
  if (signs.exported > 0) return judge_part_of_api(candidate, in);
  judge_no_api(candidate, in);
}

// Nothing was read, so only the name speaks. A JSON file or an archive is not a broken library.
void judge_unread(Candidate& candidate, const std::string& reason) {
  const RuntimeSigns signs = gather_runtime_signs(candidate.path, ElfFacts{}, nullptr);
  candidate.kind = RuntimeKind::not_a_runtime;
  if (!signs.name_has_cudart) return;
  if (reason.find("not an ELF") != std::string::npos && !ends_like_library(signs.base)) {
    return say(candidate, "only the file name says cudart: " + shown(reason));
  }
  candidate.kind = RuntimeKind::undetermined;
  candidate.label = "not read";
  say(candidate, "not read: " + shown(reason));
}

void fill_missing(Candidate& candidate, const ElfFacts& elf) {
  const bool asked = candidate.kind != RuntimeKind::static_copy &&
                     candidate.kind != RuntimeKind::not_a_runtime && candidate.exports_known;
  if (!asked) return;
  candidate.names_asked = static_cast<std::uint32_t>(names_rt11().size());
  for (std::string_view name : names_rt11()) {
    if (std::find(elf.exports.begin(), elf.exports.end(), name) == elf.exports.end()) {
      candidate.missing.emplace_back(name);
    }
  }
}

}  // namespace

Candidate identify_runtime(std::string_view path, const Fact<ElfFacts>& elf,
                           const Fact<ContentScan>& content) {
  Candidate candidate;
  candidate.path = std::string(path);
  candidate.selectable_by_name = is_selectable_name(base_name(path));
  const ElfFacts* facts = elf.get();
  if (facts == nullptr) {
    judge_unread(candidate, elf.reason());
    return candidate;
  }
  candidate.soname = facts->soname.value_or("");
  candidate.build_id = facts->build_id;
  candidate.exports_known = facts->symbols_walked;
  candidate.exported = facts->census.runtime;
  const RuntimeInput in{path, *facts, content.get(), content.reason(),
                        gather_runtime_signs(path, *facts, content.get())};
  judge(candidate, in);
  fill_missing(candidate, *facts);
  return candidate;
}

}  // namespace cudart_doctor
