// An exporter and an importer started by hand, without the runner: what each told, what it printed
// and how it ended.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/probe/protocol.hpp"

namespace probe_test {

struct PairOrder {
  std::string program = PROBE_CHILD;  ///< Executed with kProbeChildArgument.
  std::vector<std::string> runtimes;  ///< Files, in turn.
  std::vector<std::string> bound_names = {"cudaMalloc", "cudaFree"};
  std::vector<int> devices = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool importer = true;
  bool symbols_only = false;
  bool driver_checks = true;
  int deadline_ms = 20000;  ///< Then both are killed.
};

struct ChildRecord {
  std::vector<cudart_doctor::Frame> frames;
  std::string output;
  int status = 0;         ///< As waitpid gives it.
  bool late = false;      ///< Killed at the deadline.
  std::string malformed;  ///< What a frame that could not be read said; "" when all could.
};

struct PairRecord {
  ChildRecord exporter;
  ChildRecord importer;
};

PairRecord run_pair(const PairOrder& order);

/// "exporter memory d0 pass", one line a frame, without frames before a stage.
std::string describe(const cudart_doctor::Frame& frame);

}  // namespace probe_test
