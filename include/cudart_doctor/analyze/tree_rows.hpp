// Which processes of a tree are drawn, and which are folded into a line for many. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cudart_doctor/model/tree.hpp"

namespace cudart_doctor {

/// How much is folded.
enum class Fold : std::uint8_t {
  none,
  alike,    ///< Of more than three siblings that are alike with all below them, two are drawn.
  grouped,  ///< One of each group, whatever the titles say; those without CUDA are one.
};

struct TreeRow {
  std::size_t depth = 0;
  std::size_t process = 0;  ///< Index into processes; of a folded row the first it stands for.
  std::size_t folded = 0;   ///< It stands for so many siblings that are like `like`; 0: one.
  std::size_t like = 0;     ///< Of a folded row: index of the first of them, which is drawn.
  std::size_t below = 0;    ///< Of a folded row: how many processes those are with all below them.
};

/// In the order in which they are drawn: each parent before its children.
std::vector<TreeRow> tree_rows(const TreeReport& report, Fold fold);

/// Whether the process gave itself a name (prctl, as in "Worker_TP2") that its command line, a
/// piece of code behind -c, does not tell: `comm` is its title then.
bool names_itself(const ProcessFacts& facts);

/// A title with '#' for each number: "sglang::scheduler_TP#".
std::string title_stem(const NodeProcess& process);

}  // namespace cudart_doctor
