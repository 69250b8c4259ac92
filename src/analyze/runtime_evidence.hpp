// The sentences about a runtime-like object and the fields that follow from its contents, shared by
// all verdicts of identify_runtime.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/elf_facts.hpp"
#include "runtime_signs.hpp"

namespace cudart_doctor {

/// What a verdict is made from.
struct RuntimeInput {
  std::string_view path;
  const ElfFacts& elf;
  const ContentScan* content;
  std::string content_reason;  ///< Why there is no content scan.
  RuntimeSigns signs;
};

/// Adds one evidence sentence.
void say(Candidate& candidate, std::string sentence);
void say_exports(Candidate& candidate, const RuntimeSigns& signs);
void say_node(Candidate& candidate, const RuntimeSigns& signs);
void say_code(Candidate& candidate, const RuntimeInput& in);
void say_damage(Candidate& candidate, const ElfFacts& elf);

/// Version and major: code first, then the node (major only), then the file name where nothing
/// contradicts it.
void fill_version(Candidate& candidate, const RuntimeSigns& signs);

/// What soname and file name of a genuine runtime say against its contents.
void fill_soname(Candidate& candidate, const RuntimeInput& in);

}  // namespace cudart_doctor
