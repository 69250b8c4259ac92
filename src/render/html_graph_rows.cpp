// What the picture shows, without where.
#include <algorithm>
#include <map>
#include <tuple>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_graph.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxSentences = 60;

/// What must not be missed of a runtime's file.
std::string state_of(const LoadedObject* object) {
  if (object == nullptr) return {};
  if (object->state == FileState::deleted) return "DELETED";
  return object->state == FileState::replaced ? "REPLACED" : "";
}

class GraphBuilder {
 public:
  explicit GraphBuilder(const Report& report)
      : report_(report), refs_(candidate_refs(report)), told_(telling_selections(report)) {}

  Graph build() {
    add_lanes();
    if (graph_.lanes.empty()) return std::move(graph_);
    add_objects();
    add_runtimes();
    add_consumers();
    return std::move(graph_);
  }

 private:
  void add_lanes();
  void add_objects();
  void add_runtimes();
  void add_consumers();
  void add_consumer(const Selection& selection);
  void say(const std::string& sentence) {
    if (graph_.sentences.size() < kMaxSentences) graph_.sentences.push_back(sentence);
  }
  void add_caption(std::string_view text) {
    graph_.rows.push_back({.kind = GraphRow::Kind::caption, .label = std::string(text)});
  }
  void add_rest(std::size_t count, std::string_view noun) {
    if (count == 0) return;
    graph_.rows.push_back({.kind = GraphRow::Kind::note, .label = "and " + count_of(count, noun)});
  }
  [[nodiscard]] bool is_taken(std::size_t candidate) const {
    return std::any_of(told_.begin(), told_.end(), [&](const Selection* selection) {
      return candidate_of(report_, *selection) == candidate;
    });
  }
  /// The lane of a candidate; the number of lanes where it has none.
  [[nodiscard]] std::size_t lane_of(std::size_t candidate) const {
    const auto found =
        std::find_if(graph_.lanes.begin(), graph_.lanes.end(),
                     [&](const GraphLane& lane) { return lane.candidate == candidate; });
    return static_cast<std::size_t>(found - graph_.lanes.begin());
  }
  [[nodiscard]] std::size_t lane_of_path(const std::string& path) const {
    const auto found = std::find_if(
        graph_.lanes.begin(), graph_.lanes.end(),
        [&](const GraphLane& lane) { return report_.candidates[lane.candidate].path == path; });
    return static_cast<std::size_t>(found - graph_.lanes.begin());
  }

  const Report& report_;
  std::vector<std::string> refs_;
  std::vector<const Selection*> told_;
  Graph graph_;
  std::size_t lanes_left_out_ = 0;
};

void GraphBuilder::add_lanes() {
  std::vector<std::size_t> taken;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < report_.candidates.size(); ++i) {
    const Candidate& candidate = report_.candidates[i];
    if (candidate.kind == RuntimeKind::static_copy) continue;
    if (is_taken(i)) {
      taken.push_back(i);
    } else if (candidate.loaded) {
      others.push_back(i);
    }
  }
  taken.insert(taken.end(), others.begin(), others.end());
  if (taken.size() > kMaxLanes) {
    lanes_left_out_ = taken.size() - kMaxLanes;
    taken.resize(kMaxLanes);
  }
  std::sort(taken.begin(), taken.end());
  for (const std::size_t i : taken) {
    graph_.lanes.push_back({refs_[i], i, mark_of(report_.candidates[i].kind)});
  }
}

void GraphBuilder::add_objects() {
  // One of each runtime in turn, so that none crowds out another's.
  std::vector<std::vector<Loader>> loaders;
  std::size_t longest = 0;
  for (const GraphLane& lane : graph_.lanes) {
    loaders.push_back(loaders_of(report_, lane.candidate));
    longest = std::max(longest, loaders.back().size());
  }
  std::vector<GraphRow> rows;
  std::map<std::string, std::size_t> row_of;
  std::size_t left_out = 0;
  for (std::size_t turn = 0; turn < longest; ++turn) {
    for (std::size_t lane = 0; lane < loaders.size(); ++lane) {
      if (turn >= loaders[lane].size()) continue;
      const Loader& loader = loaders[lane][turn];
      const auto [place, added] = row_of.emplace(loader.name, rows.size());
      if (added && rows.size() >= kMaxGraphObjects) {
        row_of.erase(place);
        ++left_out;
        continue;
      }
      if (added) rows.push_back({.kind = GraphRow::Kind::object, .label = loader.name});
      rows[place->second].ties.push_back({lane, loader.bound ? TieKind::uses : TieKind::needs});
      say(loader.name + (loader.needs ? " needs " : " uses ") + graph_.lanes[lane].ref + ".");
    }
  }
  if (rows.empty()) return;
  std::sort(rows.begin(), rows.end(), [](const GraphRow& a, const GraphRow& b) {
    return std::tie(a.ties.front().lane, a.label) < std::tie(b.ties.front().lane, b.label);
  });
  add_caption("Objects that need a runtime");
  for (auto& row : rows) graph_.rows.push_back(std::move(row));
  add_rest(left_out, "more object");
}

void GraphBuilder::add_runtimes() {
  add_caption("Runtimes, by address");
  for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane) {
    const Candidate& candidate = report_.candidates[graph_.lanes[lane].candidate];
    const LoadedObject* object = object_of(report_, candidate.object);
    std::string detail = object != nullptr ? "at " + hex(object->lowest) : "not mapped";
    if (!candidate.version.empty()) detail = printable(candidate.version) + ", " + detail;
    if (!candidate.label.empty()) detail = printable(candidate.label) + ", " + detail;
    const std::string state = state_of(object);
    const std::string name = escape_foreign(base_name(candidate.path));
    graph_.rows.push_back({.kind = GraphRow::Kind::runtime,
                           .label = name,
                           .detail = detail,
                           .state = state,
                           .mark = graph_.lanes[lane].mark,
                           .lane = lane});
    say(graph_.lanes[lane].ref + " is " + name + ", " + std::string(graph_.lanes[lane].mark.word) +
        ", " + (state.empty() ? state : state + ", ") + detail + ".");
  }
  add_rest(lanes_left_out_, "more runtime");
}

void GraphBuilder::add_consumer(const Selection& selection) {
  const AnswerRow answer = answer_row(report_, selection, refs_);
  GraphRow row{.kind = GraphRow::Kind::consumer, .label = answer.title};
  row.mark = {answer.result == "FAIL" ? "FAIL" : answer.result == "ok" ? "ok" : "?", answer.tone};
  const auto candidate = candidate_of(report_, selection);
  const std::size_t lane = candidate ? lane_of(*candidate) : graph_.lanes.size();
  if (lane < graph_.lanes.size()) {
    const bool ok = answer.result == "ok";
    const bool bad = answer.result == "FAIL";
    row.ties.push_back({lane, ok ? TieKind::takes : bad ? TieKind::fails : TieKind::unproven});
  }
  for (const auto* answers : {&selection.other_answers, &selection.possible}) {
    for (const auto& other : *answers) {
      const std::size_t at = lane_of_path(other);
      if (at < graph_.lanes.size() && at != lane) row.ties.push_back({at, TieKind::luck});
    }
  }
  std::string_view why = answer.why;
  while (why.starts_with(',') || why.starts_with(' ')) why.remove_prefix(1);
  row.detail = why;
  if (answer.where == "NONE" || answer.where == "-") row.mark = {"none", answer.tone};
  if (answer.result == "FAIL") row.mark.word = "FAIL";
  say(answer.title + ": " + answer.where + " " + answer.result + answer.why + ".");
  graph_.rows.push_back(std::move(row));
}

void GraphBuilder::add_consumers() {
  if (told_.empty()) return;
  add_caption("Consumers, and what each takes");
  const std::size_t shown = std::min(told_.size(), kMaxGraphConsumers);
  for (std::size_t i = 0; i < shown; ++i) add_consumer(*told_[i]);
  add_rest(told_.size() - shown, "more consumer");
}

}  // namespace

Graph graph_of(const Report& report) { return GraphBuilder(report).build(); }

}  // namespace cudart_doctor
