// Metrics in the text format of Prometheus, and those that every document has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/exit_style.hpp"

namespace cudart_doctor {

struct Label {
  std::string_view name;
  std::string value;  ///< One of our own words, or a number.
};

/// A metric: HELP and TYPE once, then its samples. One without samples is left out whole.
class Gauge {
 public:
  Gauge(std::string_view name, std::string_view help)
      : name_(std::string("cudart_doctor_").append(name)), help_(help) {}

  void add(const std::vector<Label>& labels, std::string_view value);
  void add(const std::vector<Label>& labels, std::uint64_t value) {
    add(labels, std::to_string(value));
  }
  [[nodiscard]] std::string text() const;

 private:
  std::string name_;
  std::string help_;
  std::string samples_;
};

std::string build_info_gauge();
std::string verdict_gauge(RunEnd end);
/// `taken_at` as RFC 3339.
std::string last_run_gauge(std::string_view taken_at);

}  // namespace cudart_doctor
