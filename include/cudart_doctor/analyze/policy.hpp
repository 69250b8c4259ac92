// The table of selection rules. Each vintage of each consumer is a row of its own: an id, what is
// known about it, and a pure function. Rules that look at the disk say beforehand what they want
// to know (`wanted`), a second capture pass reads it, and `decide` stays pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// What a rule may look at: the snapshot and what its objects turned out to be.
struct PolicyInput {
  PolicyInput(const Snapshot& snapshot_seen, std::span<const Candidate> candidates_seen);

  const Snapshot& snapshot;
  std::span<const Candidate> candidates;
  /// The lines of maps that hold "cudart": all that a scanning rule can be interested in, found
  /// once for all of them.
  std::vector<PythonLine> cudart_lines;
};

struct Policy {
  std::string_view id = {};  ///< "flashinfer-2026-09"; never reused.
  std::string_view rule =
      {};  ///< Short name used by the test cases ("scan-basename"), may be empty.
  std::string_view consumer = {};  ///< Consumer id ("flashinfer"); empty for a plain loader rule.
  std::string_view title = {};     ///< "FlashInfer after #5198": fits a table column of 24.
  std::string_view vintage = {};   ///< "from pull 5198 (2026-09)".
  std::string_view source = {};    ///< Where the rule was read.
  std::string_view summary = {};   ///< The rule in one sentence.
  std::span<const std::string_view> bound_names = {};  ///< In bind order; empty: by need.
  bool scans_addresses = false;  ///< Address-ordered: may raise RT04, RT07, RT08.
  bool current = false;          ///< The consumer's present rule (else an older vintage).
  bool preload = false;          ///< Opens a runtime for others and binds nothing itself.
  bool released = true;          ///< false: only ever in a pull request, so in no installation.
  /// For a rule that a consumer has beside its main one: the first version that ships it. Its
  /// presence then follows the consumer's version, not its vintage.
  std::string_view since = {};
  /// For such a rule: the first version that has it no more; empty: every later one has it.
  std::string_view before = {};
  std::vector<DiskRequest> (*wanted)(const Snapshot&) = nullptr;  ///< May be nullptr: nothing.
  Selection (*decide)(const Policy&, const PolicyInput&) = nullptr;
};

/// All rules, in the order of the report.
std::span<const Policy> policies();

/// The row with this id or rule name; nullptr when there is none.
const Policy* find_policy(std::string_view id_or_rule);

/// Ids of the rules that `word` may have meant: those of the consumer whose name it is in, else
/// those that look like it; eight at most.
std::vector<std::string> near_policies(std::string_view word);

/// A consumer whose way to a runtime is known and no row of the table.
struct NotModelled {
  std::string_view id = {};        ///< As it is known by; no row has it.
  std::string_view consumer = {};  ///< For people.
  std::string_view what = {};      ///< What it does, and why it is no row; one or two sentences.
};

/// Those, most used first.
std::span<const NotModelled> not_modelled();

/// What all rules together want to know about the target's disk, sorted, each once.
std::vector<DiskRequest> wanted_by_policies(const Snapshot& snapshot);

/// Every rule's answer. `consumers` fills presence and vintage notes. Pure.
std::vector<Selection> select_all(const PolicyInput& input, std::span<const Consumer> consumers);

}  // namespace cudart_doctor
