// Processes stand in the order of the tree, each parent before its children: from the end to the
// begin every child is known before its parent, without a recursion that a deep tree could exhaust.
#include "cudart_doctor/analyze/tree_rows.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kNoGroup = SIZE_MAX;
/// What PyTorch calls the main thread of whatever imports it.
constexpr std::string_view kOfPyTorch = "pt_main_thread";

/// What two subtrees have in common that are drawn as one.
using Likeness = std::tuple<int, std::size_t, std::string, std::vector<std::size_t>>;

struct Shape {
  std::vector<std::size_t> depth;
  std::vector<std::vector<std::size_t>> children;
  std::vector<std::size_t> likeness;  ///< Equal numbers: alike with all below.
  std::vector<std::size_t> size;      ///< Processes of the subtree.
};

Likeness likeness_of(const NodeProcess& process, Fold fold, std::vector<std::size_t> children) {
  std::ranges::sort(children);
  // Of many equal children it does not matter how many there are.
  if (fold == Fold::grouped) children.erase(std::ranges::unique(children).begin(), children.end());
  const bool by_title = fold != Fold::grouped || process.state == ProcessState::unread;
  return {int(process.state), process.group.value_or(kNoGroup),
          by_title ? title_stem(process) : std::string(), std::move(children)};
}

Shape shape_of(const TreeReport& report, Fold fold) {
  const std::vector<NodeProcess>& processes = report.processes;
  Shape out;
  out.depth = depths(processes);
  out.children.resize(processes.size());
  out.likeness.resize(processes.size());
  out.size.assign(processes.size(), 1);
  std::map<std::int64_t, std::size_t> by_pid;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto parent = by_pid.find(processes[i].facts.parent_pid);
    if (i != 0) out.children[parent == by_pid.end() ? 0 : parent->second].push_back(i);
    by_pid[processes[i].facts.pid] = i;
  }
  std::map<Likeness, std::size_t> numbers;
  for (std::size_t i = processes.size(); i-- > 0;) {
    std::vector<std::size_t> below;
    for (const std::size_t child : out.children[i]) {
      below.push_back(out.likeness[child]);
      out.size[i] += out.size[child];
    }
    const Likeness likeness = likeness_of(processes[i], fold, std::move(below));
    out.likeness[i] = numbers.try_emplace(likeness, numbers.size()).first->second;
  }
  return out;
}

/// How many of so many that are alike are drawn; a line for one would save none.
std::size_t drawn_of(std::size_t alike, Fold fold) {
  constexpr std::size_t kFew = 3;
  if (fold == Fold::none || alike == 2) return alike;
  if (fold == Fold::alike) return alike <= kFew ? alike : 2;
  return 1;
}

std::vector<TreeRow> rows_of_children(const Shape& shape, std::size_t parent, Fold fold) {
  std::map<std::size_t, std::vector<std::size_t>> alike;
  for (const std::size_t child : shape.children[parent])
    alike[shape.likeness[child]].push_back(child);
  std::vector<TreeRow> out;
  for (const std::size_t child : shape.children[parent]) {
    const std::vector<std::size_t>& same = alike[shape.likeness[child]];
    const std::size_t most = drawn_of(same.size(), fold);
    const auto place = static_cast<std::size_t>(std::ranges::find(same, child) - same.begin());
    TreeRow row{.depth = shape.depth[child], .process = child};
    if (place < most) {
      out.push_back(row);
    } else if (place == most) {
      row.folded = same.size() - most;
      row.like = same.front();
      for (std::size_t i = most; i < same.size(); ++i) row.below += shape.size[same[i]];
      out.push_back(row);
    }
  }
  return out;
}

}  // namespace

bool names_itself(const ProcessFacts& facts) {
  const auto* const words = facts.command_line.get();
  if (words == nullptr || facts.comm.empty() || facts.comm == kOfPyTorch) return false;
  if (std::ranges::find(*words, "-c") == words->end()) return false;
  // What exec puts there: the name of the program or of a link to it.
  const auto* const executable = facts.executable.get();
  if (executable != nullptr && base_name(*executable).starts_with(facts.comm)) return false;
  return std::ranges::none_of(
      *words, [&](const std::string& word) { return word.find(facts.comm) != std::string::npos; });
}

std::string title_stem(const NodeProcess& process) {
  const auto* const words = process.facts.command_line.get();
  const bool has_words = words != nullptr && !words->empty() && !names_itself(process.facts);
  std::string out;
  for (const char letter : has_words ? join(*words, " ") : process.facts.comm) {
    const bool digit = letter >= '0' && letter <= '9';
    if (!digit) {
      out += letter;
    } else if (out.empty() || out.back() != '#') {
      out += '#';
    }
  }
  return out;
}

std::vector<TreeRow> tree_rows(const TreeReport& report, Fold fold) {
  if (report.processes.empty()) return {};
  const Shape shape = shape_of(report, fold);
  std::vector<TreeRow> out;
  std::vector<TreeRow> waiting{TreeRow{}};
  while (!waiting.empty()) {
    out.push_back(waiting.back());
    waiting.pop_back();
    if (out.back().folded != 0) continue;
    std::vector<TreeRow> below = rows_of_children(shape, out.back().process, fold);
    waiting.insert(waiting.end(), below.rbegin(), below.rend());
  }
  return out;
}

}  // namespace cudart_doctor
