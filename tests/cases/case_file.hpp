// A .case file: a process to look at, what would be read elsewhere, and what a correct report
// must contain. The format is described in README.md beside this file. Strict: a slip of the pen
// is an error, never a green test.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/profile.hpp"
#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor::test {

struct ObjectLine {
  std::string path;
  std::string kind;
  std::map<std::string, std::string> keys;
};

struct DiskLine {
  std::string path;
  bool absent = false;
  std::string dev;  ///< "fe:02", hexadecimal
  std::uint64_t inode = 0;
};

struct CaseFacts {
  std::vector<ObjectLine> objects;
  std::vector<DiskLine> disk;
  std::vector<std::pair<std::string, std::string>> searches;
  std::vector<std::pair<std::string, std::string>> environment;
  std::map<std::string, std::string> host;
  std::map<std::string, std::string> probe;
  std::vector<Profile> profiles;
};

struct Expectation {
  enum class Kind { runtimes, select, find, absent } kind = Kind::absent;
  std::string subject;  ///< Rule or finding id.
  std::string value;    ///< Count, path or NONE/FAIL:WORD, severity.
  std::string line;     ///< As written.
};

/// One run: the base blocks, or a variant's with the base's where it gives none.
struct CaseRun {
  std::string name;  ///< "OC-01" or "OC-01 [swapped]"
  std::string maps;
  CaseFacts facts;
  std::vector<Expectation> expectations;
};

/// Parses the text of `file_name`. Errors: malformed, with the line number.
Result<std::vector<CaseRun>> parse_case(std::string_view text, std::string_view file_name);

/// All finding ids that a case may speak of.
bool is_finding_id(std::string_view id);

}  // namespace cudart_doctor::test
