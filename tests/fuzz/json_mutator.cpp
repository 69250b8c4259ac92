// libFuzzer's mutator for inputs that begin with a JSON text: most mutated JSON is no JSON, and
// what lies behind its parser would never be met. Changes one value and keeps the rest.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed);

namespace {

using Json = nlohmann::ordered_json;
using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

void collect(Json& value, std::vector<Json*>& all) {
  all.push_back(&value);
  if (!value.is_structured()) return;
  for (Json& each : value) collect(each, all);
}

std::string mutated(const std::string& text) {
  std::vector<std::uint8_t> bytes(text.begin(), text.end());
  bytes.resize(text.size() + 64);
  bytes.resize(LLVMFuzzerMutate(bytes.data(), text.size(), bytes.size()));
  return {bytes.begin(), bytes.end()};
}

Json scalar(Random& random) {
  switch (below(random, 8)) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return 0;
    case 3: return -1;
    case 4: return std::numeric_limits<std::uint64_t>::max();
    case 5: return std::numeric_limits<std::int64_t>::min();
    case 6: return "";
    default: return Json::array();
  }
}

/// Takes an element away, or doubles one.
void resize(Json& list, Random& random) {
  const auto place = list.begin() + static_cast<std::ptrdiff_t>(below(random, list.size()));
  if (below(random, 2) == 0) {
    list.erase(place);
  } else {
    list.push_back(*place);
  }
}

void change(Json& root, Random& random) {
  std::vector<Json*> all;
  collect(root, all);
  Json& value = *all[below(random, all.size())];
  const Json& other = *all[below(random, all.size())];
  switch (below(random, 6)) {
    case 0: value = scalar(random); return;
    case 1: value = Json(other); return;
    case 2:
      if (value.is_object() && !value.empty()) {
        value.erase(
            std::next(value.begin(), static_cast<std::ptrdiff_t>(below(random, value.size()))));
      }
      return;
    case 3:
      if (value.is_array() && !value.empty()) resize(value, random);
      return;
    default:
      if (value.is_string()) {
        value = mutated(value.get<std::string>());
      } else if (value.is_number()) {
        value = random();
      } else if (value.is_array() && !value.empty()) {
        resize(value, random);
      }
      return;
  }
}

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  Random random(seed);
  const auto* end = std::find(data, data + size, 0);
  const std::string behind(end, static_cast<const std::uint8_t*>(data + size));
  Json root = Json::parse(static_cast<const std::uint8_t*>(data), end, nullptr, false);
  if (root.is_discarded() || below(random, 16) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text;
  if (!behind.empty() && below(random, 4) == 0) {
    text = root.dump() + '\0' + mutated(behind.substr(1));
  } else {
    for (std::size_t times = 1 + below(random, 4); times != 0; --times) change(root, random);
    text = root.dump(-1, ' ', false, Json::error_handler_t::replace) + behind;
  }
  if (text.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
