// Any bytes as a list of allowed findings: refused with a reason, or ids of the catalogue only.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cudart_doctor/analyze/allow.hpp"
#include "cudart_doctor/analyze/catalogue.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto list = parse_allow_file(std::string(data, data + size), "allow.txt");
  if (!list) {
    if (list.error().message.empty()) std::abort();
    return 0;
  }
  for (const Allowance& each : *list) {
    if (find_entry(each.id) == nullptr) std::abort();
  }
  return 0;
}
