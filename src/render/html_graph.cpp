// The picture: lanes downwards, rows across. Every state has a shape and a word of its own, colour
// only adds to it.
#include "render/html_graph.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "render/html_writer.hpp"

namespace cudart_doctor {
namespace {

// Units of the drawing; the page shows them at 0.9 (a phone of 360 pixels) to 1.3 pixels. No letter
// is below 13.5, so that none is below 12 pixels.
constexpr int kWidth = 360;
constexpr int kEdge = 12;
constexpr int kCaption = 30;
constexpr int kLine = 22;
constexpr int kSecondLine = 17;
constexpr int kBoxGap = 8;
constexpr double kLetter = 8.5;  // Widest monospace digit at 14 units, and that of the second line.
constexpr double kSmallLetter = 8.2;

std::string number(int value) { return std::to_string(value); }

std::string line(int x1, int y1, int x2, int y2, std::string_view css) {
  return "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) +
         "\" y2=\"" + number(y2) + "\" class=\"" + std::string(css) + "\"/>\n";
}

std::string circle(int x, int y, int radius, std::string_view css) {
  return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\"" + number(radius) +
         "\" class=\"" + std::string(css) + "\"/>\n";
}

/// The sign at `x`, `y` and its line to `end`.
std::string tie_shape(TieKind kind, int x, int y, int end) {
  switch (kind) {
    case TieKind::needs: return line(x, y, end, y, "tie") + circle(x, y, 4, "hollow");
    case TieKind::uses: return line(x, y, end, y, "tie") + circle(x, y, 4, "full");
    case TieKind::takes: return line(x, y, end, y, "tie good") + circle(x, y, 4, "full good");
    case TieKind::unproven:
      return line(x, y, end, y, "tie notice") + circle(x, y, 4, "hollow notice");
    case TieKind::fails:
      return line(x, y, end, y, "tie broken bad") + circle(x, y, 7, "patch") +
             line(x - 5, y - 5, x + 5, y + 5, "cross bad") +
             line(x - 5, y + 5, x + 5, y - 5, "cross bad");
    case TieKind::luck: return circle(x, y, 4, "luck notice");
  }
  return {};
}

class Drawing {
 public:
  explicit Drawing(const Graph& graph) : graph_(graph) {
    pitch_ = graph.lanes.size() <= 5 ? 20 : 15;
    text_x_ = kEdge + static_cast<int>(graph.lanes.size()) * pitch_ + 4;
    place_rows();
  }

  std::string svg() {
    for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane) draw_lane(lane);
    for (std::size_t i = 0; i < graph_.rows.size(); ++i) draw_row(graph_.rows[i], tops_[i]);
    std::string out = "<svg viewBox=\"0 0 " + number(kWidth) + " " + number(height_) +
                      "\" role=\"img\" aria-labelledby=\"graph-t graph-d\">\n" +
                      "<title id=\"graph-t\">Who loads what</title>\n<desc id=\"graph-d\">";
    for (const auto& sentence : graph_.sentences) out += html_escaped(sentence) + "\n";
    return out + "</desc>\n" + body_ + "</svg>";
  }

 private:
  void place_rows();
  void draw_lane(std::size_t lane);
  void draw_row(const GraphRow& row, int top);
  void draw_runtime(const GraphRow& row, int top);
  void draw_texts(const GraphRow& row, int top);

  static int height_of(const GraphRow& row) {
    if (row.kind == GraphRow::Kind::caption) return kCaption;
    const int lines = kLine + (row.detail.empty() ? 0 : kSecondLine);
    return row.kind == GraphRow::Kind::runtime ? lines + kBoxGap : lines;
  }
  [[nodiscard]] int lane_x(std::size_t lane) const {
    return kEdge + static_cast<int>(lane) * pitch_;
  }
  static std::string text(int x, int y, std::string_view css, std::string_view words) {
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + std::string(css) +
           "\">" + html_escaped(words) + "</text>\n";
  }
  const Graph& graph_;
  int pitch_ = 0;
  int text_x_ = 0;
  int height_ = 0;
  std::vector<int> tops_;
  std::string body_;
};

void Drawing::place_rows() {
  for (const GraphRow& row : graph_.rows) {
    tops_.push_back(height_);
    height_ += height_of(row);
  }
  height_ += 6;
}

/// From the first row that is tied to the lane to the last.
void Drawing::draw_lane(std::size_t lane) {
  int first = height_;
  int last = 0;
  for (std::size_t i = 0; i < graph_.rows.size(); ++i) {
    const GraphRow& row = graph_.rows[i];
    const bool own = row.kind == GraphRow::Kind::runtime && row.lane == lane;
    const bool tied = std::any_of(row.ties.begin(), row.ties.end(),
                                  [&](const Tie& tie) { return tie.lane == lane; });
    if (!own && !tied) continue;
    const int y = own ? tops_[i] + height_of(row) / 2 : tops_[i] + kLine / 2 + 1;
    first = std::min(first, y);
    last = std::max(last, y);
  }
  if (first >= last) return;
  const std::string look = graph_.lanes[lane].mark.tone == Tone::good ? "lane " : "lane odd ";
  body_ += line(lane_x(lane), first, lane_x(lane), last,
                look + std::string(html_class(graph_.lanes[lane].mark.tone)));
}

void Drawing::draw_texts(const GraphRow& row, int top) {
  const bool runtime = row.kind == GraphRow::Kind::runtime;
  const int room = kWidth - text_x_ - (runtime ? 8 : 0);
  const int mark_room =
      row.mark.word.empty() ? 0 : static_cast<int>(double(row.mark.word.size()) * kLetter) + 10;
  const auto columns = static_cast<std::size_t>(std::max(60, room - mark_room) / kLetter);
  const int y = top + 16;
  body_ += text(text_x_, y, "name", cut_middle(row.label, columns));
  if (!row.mark.word.empty()) {
    body_ += text(kWidth - (runtime ? 8 : 0), y, "tag " + std::string(html_class(row.mark.tone)),
                  row.mark.word);
  }
  if (row.detail.empty()) return;
  const auto small = static_cast<std::size_t>(room / kSmallLetter);
  if (row.state.empty()) {
    body_ += text(text_x_, y + kSecondLine, "small", cut_end(row.detail, small));
    return;
  }
  const std::string rest =
      cut_end(row.detail, small > row.state.size() + 2 ? small - row.state.size() - 2 : 0);
  body_ += "<text x=\"" + number(text_x_) + "\" y=\"" + number(y + kSecondLine) +
           "\" class=\"small\"><tspan class=\"state\">" + html_escaped(row.state) + "</tspan>" +
           html_escaped(rest.empty() ? rest : ", " + rest) + "</text>\n";
}

void Drawing::draw_runtime(const GraphRow& row, int top) {
  const Mark& mark = graph_.lanes[row.lane].mark;
  const std::string tone(html_class(mark.tone));
  const int height = height_of(row) - kBoxGap;
  const int middle = top + kBoxGap / 2 + height / 2;
  body_ += "<rect x=\"" + number(text_x_ - 8) + "\" y=\"" + number(top + kBoxGap / 2 - 1) +
           "\" width=\"" + number(kWidth - text_x_ + 7) + "\" height=\"" + number(height + 1) +
           "\" rx=\"3\" class=\"box " + (mark.tone == Tone::good ? "" : "odd ") + tone + "\"/>\n";
  body_ += line(lane_x(row.lane), middle, text_x_ - 8, middle, "tie " + tone);
  body_ += circle(lane_x(row.lane), middle, 9, "badge " + tone);
  body_ += text(lane_x(row.lane), middle + 4, "ref", graph_.lanes[row.lane].ref);
  draw_texts(row, top + kBoxGap / 2 - 1);
}

void Drawing::draw_row(const GraphRow& row, int top) {
  switch (row.kind) {
    case GraphRow::Kind::caption: body_ += text(text_x_, top + 20, "caption", row.label); return;
    case GraphRow::Kind::note: body_ += text(text_x_, top + 15, "small", row.label); return;
    case GraphRow::Kind::runtime: draw_runtime(row, top); return;
    case GraphRow::Kind::object:
    case GraphRow::Kind::consumer: break;
  }
  const int y = top + kLine / 2 + 1;
  for (const Tie& tie : row.ties) body_ += tie_shape(tie.kind, lane_x(tie.lane), y, text_x_ - 4);
  draw_texts(row, top);
}

bool has_tie(const Graph& graph, TieKind kind) {
  return std::any_of(graph.rows.begin(), graph.rows.end(), [&](const GraphRow& row) {
    return std::any_of(row.ties.begin(), row.ties.end(),
                       [&](const Tie& tie) { return tie.kind == kind; });
  });
}

std::string sign(const std::string& shape, std::string_view words) {
  return "<li><svg viewBox=\"0 0 32 18\" aria-hidden=\"true\">" + shape + "</svg> " +
         html_escaped(words) + "</li>\n";
}

/// The signs that the picture has.
std::string legend(const Graph& graph) {
  struct Entry {
    TieKind kind;
    std::string_view words;
  };
  constexpr std::array kEntries = {
      Entry{TieKind::needs, "names it as a dependency (DT_NEEDED)"},
      Entry{TieKind::uses, "its function pointers lead there now"},
      Entry{TieKind::takes, "takes it, and it serves"},
      Entry{TieKind::fails, "takes it, and fails"},
      Entry{TieKind::unproven, "may take it, or it is not known whether it serves"},
      Entry{TieKind::luck, "another order of addresses gives this one"}};
  std::string out = "<ul class=\"legend\">\n";
  for (const Entry& entry : kEntries) {
    if (has_tie(graph, entry.kind)) out += sign(tie_shape(entry.kind, 9, 9, 31), entry.words);
  }
  const bool odd = std::any_of(graph.lanes.begin(), graph.lanes.end(),
                               [](const GraphLane& lane) { return lane.mark.tone != Tone::good; });
  if (odd) out += sign(line(9, 1, 9, 17, "lane odd bad"), "not a genuine runtime");
  return out + "</ul>\n";
}

}  // namespace

void html_graph(HtmlWriter& page, const Report& report) {
  const Graph graph = graph_of(report);
  if (graph.lanes.empty()) return;
  page.begin_section("picture", "Who loads what");
  page.raw("<figure>\n" + Drawing(graph).svg() + "\n<figcaption>" + legend(graph) +
           "</figcaption>\n</figure>");
  page.end_section();
}

}  // namespace cudart_doctor
