// Parts from which the test reports are put together.
#pragma once

#include <string>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor::testing {

inline const std::string kSite = "/opt/venv/lib/python3.12/site-packages/";

/// A mapped library with known ELF facts; its index.
std::size_t add_object(Report& report, const std::string& path, std::uint64_t address);
/// A mapped candidate; a genuine one is libcudart 12.8.
Candidate& add_runtime(Report& report, RuntimeKind kind, const std::string& path,
                       std::uint64_t address);
/// A genuine runtime on disk that is not mapped.
void add_installed(Report& report, const std::string& path, const std::string& version);
/// A rule that takes the object with this index and works.
Selection& add_selection(Report& report, const std::string& policy, const std::string& title,
                         std::size_t object);
/// Present with this version, absent when it is empty.
struct ConsumerRow {
  std::string id{};
  std::string name{};
  std::string version{};
  std::string vintage{};
};
void add_consumer(Report& report, const ConsumerRow& row);
/// A process that could be read completely, without any library.
Report base_report();
/// Plain libraries up to `total` objects.
void fill_objects(Report& report, std::size_t total);
/// A genuine driver, mapped.
Companion driver(Report& report);

}  // namespace cudart_doctor::testing
