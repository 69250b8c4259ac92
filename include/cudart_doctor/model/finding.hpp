// Findings: what is wrong, how grave, whose it is, and what to do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudart_doctor {

enum class Severity : std::uint8_t { info, warning, error, critical };

enum class Owner : std::uint8_t {
  node,   ///< Driver, kernel module, device nodes: may drain a node.
  image,  ///< Packages, stubs, mixed wheels.
  user,   ///< Variables, launch options, preloads.
};

struct Finding {
  std::string id;    ///< "RT04"; never reused.
  std::string slug;  ///< "lookalike-selected"
  Severity severity = Severity::info;
  Owner owner = Owner::image;
  std::string headline;               ///< One sentence: the answer.
  std::string effect;                 ///< What breaks or would break, for whom, loudly or silently.
  std::vector<std::string> evidence;  ///< Facts, one sentence each, escaped when printed.
  std::vector<std::string> fixes;     ///< Concrete steps, the best first.
  std::vector<std::string> no_help;   ///< What looks like a remedy and is none, with the reason.
  std::string consumer;               ///< "FlashInfer 0.6.14", "" where none is concerned.
  /// Who allowed it ("--allow RT06 until 2027-01-31"): it is shown and does not count. "": nobody.
  std::string allowed = {};
  std::string policy = {};  ///< Id of the rule that leads to it; "" where none does.
};

}  // namespace cudart_doctor
