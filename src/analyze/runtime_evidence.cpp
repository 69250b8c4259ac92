#include "runtime_evidence.hpp"

#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

void say(Candidate& candidate, std::string sentence) {
  candidate.evidence.push_back(std::move(sentence));
}

void say_exports(Candidate& candidate, const RuntimeSigns& signs) {
  if (!signs.exports_known) {
    say(candidate, "symbol table was not listed");
  } else if (signs.exported == 0) {
    say(candidate, "exports no runtime function");
  } else if (signs.exported >= kGenuineExports) {
    say(candidate, count_of(signs.exported, "runtime function") + " exported");
  } else {
    say(candidate, std::to_string(signs.exported) + " of about 400 runtime functions exported");
  }
}

void say_node(Candidate& candidate, const RuntimeSigns& signs) {
  say(candidate, signs.node ? "version node " + *signs.node : "no version node of a runtime");
}

void say_code(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  if (!signs.content_seen) {
    say(candidate, in.elf.from_memory ? "read from memory: version constant in code not seen"
                                      : "contents not searched: " + shown(in.content_reason));
    return;
  }
  if (signs.constants_disagree) {
    say(candidate, "more than one version constant in code");
  } else if (signs.constant) {
    say(candidate, "version constant " + std::to_string(*signs.constant) + " twice in code");
  } else {
    say(candidate, "no version constant in code");
  }
  say(candidate, std::to_string(signs.yardstick) + " of 4 texts of the runtime found");
}

void say_damage(Candidate& candidate, const ElfFacts& elf) {
  for (const std::string& sentence : elf.damage) say(candidate, shown(sentence));
}

void fill_version(Candidate& candidate, const RuntimeSigns& signs) {
  candidate.major = signs.node_major;
  if (signs.constant) {
    candidate.major = static_cast<int>(*signs.constant / 1000);
    candidate.version = constant_version(*signs.constant);
    candidate.version_from = "constant in code";
  }
  if (!signs.name || signs.name->full_version.empty() || candidate.major != signs.name->major)
    return;
  const std::string& full = signs.name->full_version;
  if (candidate.version.empty()) {
    candidate.version = full;
    candidate.version_from = "file name";
  } else if (full.starts_with(candidate.version + ".")) {
    candidate.version = full;
    candidate.version_from = "constant in code, file name";
  }
}

void fill_soname(Candidate& candidate, const RuntimeInput& in) {
  const RuntimeSigns& signs = in.signs;
  const int major = candidate.major.value_or(0);
  const std::string contents =
      candidate.version.empty() ? std::to_string(major) : candidate.version;
  if (signs.name && signs.name->major != major) {
    say(candidate,
        "file name says " + std::to_string(signs.name->major) + ", contents say " + contents);
  }
  if (in.elf.soname && signs.node && *in.elf.soname == *signs.node) return;
  if (signs.soname && signs.soname->major != major) {
    candidate.soname_disagrees = true;
    candidate.label = "renamed soname";
    say(candidate,
        "soname says " + std::to_string(signs.soname->major) + ", contents say " + contents);
  } else if (!signs.soname) {
    candidate.vendored = true;
    candidate.label = "vendored copy";
    say(candidate,
        in.elf.soname ? "private soname " + shown(*in.elf.soname) : "soname was removed");
  }
}

}  // namespace cudart_doctor
