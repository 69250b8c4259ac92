// Who loads what, as rows and lanes: one lane a runtime, one row for each object that needs one,
// each runtime, each consumer; a row is tied to the lanes that it has to do with. It stays
// readable with few and with many, on a narrow screen too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/phrases.hpp"

namespace cudart_doctor {

enum class TieKind : std::uint8_t {
  needs,     ///< DT_NEEDED leads there; nothing is known of its slots.
  uses,      ///< Slots point there now.
  takes,     ///< The consumer takes it, and it serves.
  fails,     ///< The consumer takes it, and fails.
  unproven,  ///< It may take it, or whether it serves is not known.
  luck,      ///< Another order of addresses gives this one.
};

struct Tie {
  std::size_t lane = 0;
  TieKind kind = TieKind::needs;
};

struct GraphRow {
  enum class Kind : std::uint8_t { caption, object, runtime, consumer, note } kind = Kind::note;
  std::string label{};   ///< Printable, as all texts here.
  std::string detail{};  ///< A second line; may be empty.
  std::string state{};   ///< "DELETED", "REPLACED": stands before the second line; may be empty.
  Mark mark{};           ///< "SHIM", "FAIL"
  std::vector<Tie> ties{};
  std::size_t lane = 0;  ///< Of a runtime.
};

struct GraphLane {
  std::string ref;
  std::size_t candidate = 0;
  Mark mark;
};

struct Graph {
  std::vector<GraphLane> lanes;
  std::vector<GraphRow> rows;
  std::vector<std::string> sentences;  ///< The same for those who cannot see it.
};

/// More of a kind than this is counted in a note.
inline constexpr std::size_t kMaxLanes = 8;
inline constexpr std::size_t kMaxGraphObjects = 14;
inline constexpr std::size_t kMaxGraphConsumers = 14;

/// Without lanes where there is nothing to draw.
Graph graph_of(const Report& report);

}  // namespace cudart_doctor
