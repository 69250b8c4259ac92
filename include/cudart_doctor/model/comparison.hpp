// What reports are compared by, and what a comparison gives. Plain data. Texts come from JSON
// documents that anybody may have written: they are made printable where they are printed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor {

/// The parts of a report that count. Times, PIDs, addresses and inode numbers are in none of them.
enum class Area : std::uint8_t {
  verdict,
  findings,
  runtimes,
  order,  ///< In which order of addresses the runtimes lie.
  loads,  ///< Which libraries of CUDA a command loaded, and who asked for them.
  selections,
  consumers,
  driver,
  environment,
  probe,
  namespaces,
};

/// A value that can differ. Two unknown values are equal, an unknown one is equal to no other.
struct Attribute {
  std::string name;   ///< "version"
  std::string value;  ///< Where it is not known: why.
  bool known = true;
  bool operator==(const Attribute& other) const {
    return name == other.name && known == other.known && (!known || value == other.value);
  }
};

/// One thing that a report speaks of: a finding, a runtime, a variable.
struct Trait {
  Area area = Area::verdict;
  /// What tells which trait of another report this is, from the strictest to the loosest. The
  /// middle one is its identity; the others only help to find its counterpart.
  std::array<std::string, 3> keys;
  std::string title;  ///< For people.
  std::vector<Attribute> attributes;
};

/// An area of which nothing is known, and why.
struct UnreadArea {
  Area area = Area::verdict;
  std::string reason;
  bool is_gap = true;  ///< Somebody tried; else nobody asked, and there is nothing to be told.
};

/// A report, reduced to what counts, and what is needed to say whose it is.
struct ReportDigest {
  std::string name;  ///< The argument: a file, a folder, "-".
  bool replayed = false;
  std::string tool_version;
  std::string host;          ///< "" unknown.
  std::string generated_at;  ///< "" unknown.
  std::string title;         ///< "pid 4121 python srv.py", "this environment"
  std::string sentence;      ///< The report's own headline.
  std::string policy;        ///< Id of the rule that the headline follows; "" none.
  std::string worst;         ///< Severity of the gravest finding; "" none.
  bool undecided = false;
  std::vector<Trait> traits;       ///< In the report's order.
  std::vector<UnreadArea> unread;  ///< Traits of these areas are not there.
  std::vector<std::string> order;  ///< Identities of the mapped runtimes, lowest address first.
  std::vector<std::string> order_titles;
  std::vector<std::string> blind;  ///< "3 objects could not be read"
};

enum class ChangeKind : std::uint8_t {
  added,        ///< Only in the second.
  removed,      ///< Only in the first.
  changed,      ///< In both, with another value.
  not_compared  ///< Read in one of the two only.
};

struct Change {
  Area area = Area::verdict;
  ChangeKind kind = ChangeKind::changed;
  std::string subject;
  std::string attribute;            ///< "" for a subject as a whole.
  std::optional<Attribute> before;  ///< In the first; nothing: it has none.
  std::optional<Attribute> after;
};

/// Reports that do not differ.
struct DigestGroup {
  std::vector<std::size_t> members;  ///< Indices, ascending.
  std::string fingerprint;           ///< 16 hexadecimal digits.
};

/// One report against another.
struct DigestPair {
  std::size_t first = 0;
  std::size_t second = 0;
  std::vector<Change> changes;
};

/// What could be left out so that more than half of the reports agree.
struct MajorityHint {
  std::vector<std::string> ignored;  ///< As behind --ignore.
  std::vector<std::size_t> members;  ///< Who agrees then, ascending.
};

struct Comparison {
  std::vector<ReportDigest> reports;
  std::vector<DigestGroup> groups;      ///< The largest first; then as the reports were given.
  std::optional<std::size_t> majority;  ///< Group with more than half of three or more reports.
  /// The first member of each other group against the reference: the first member of the first
  /// group, of two reports the first one.
  std::vector<DigestPair> pairs;
  std::optional<MajorityHint>
      hint;  ///< Where three or more have no majority, and little is in its way.
  std::vector<std::string> unused;  ///< What was to be left out and is in none of the reports.
  [[nodiscard]] bool equal() const { return groups.size() < 2; }
};

}  // namespace cudart_doctor
