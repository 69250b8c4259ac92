// Reports that lack a key or hold something else under it: refused by the key's name, or read.
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/formats/report_json.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;
using Pointer = Json::json_pointer;

struct Place {
  Pointer at;
  std::string key;
};

/// Every key of `value`; of a list the first element's alone, the others are read alike.
void add_places(const Json& value, const Pointer& at, std::vector<Place>& out) {
  if (value.is_array() && !value.empty()) add_places(value.front(), at / 0, out);
  if (!value.is_object()) return;
  for (const auto& [key, inner] : value.items()) {
    out.push_back({at / key, key});
    // An answer's steps are skipped unread.
    if (key != "steps") add_places(inner, at / key, out);
  }
}

std::vector<Place> places(const Json& document) {
  std::vector<Place> out;
  add_places(document, Pointer(), out);
  return out;
}

/// How often a report was refused for what was done to it.
int check_answers(const Json& document, const Place& place) {
  const auto read = parse_report(document.dump());
  INFO(place.at << ": " << (read ? "read" : read.error().message));
  if (read) {
    CHECK(differences(*read, *read).empty());
    return 0;
  }
  const std::string& message = read.error().message;
  // The key, or one that lies within what is there no more.
  const bool is_named = message.find("'" + place.key + "'") != std::string::npos ||
                        message.find("the key '") != std::string::npos ||
                        message.starts_with("it is no report") ||
                        message.starts_with("its schema version");
  CHECK(is_named);
  return 1;
}

TEST_CASE("a report without one of its keys, or with something else there, is refused by name") {
  const std::array<Json, 7> kOthers = {
      nullptr, true, 7, "text", Json::array(), Json::array({Json::array()}), Json::object()};
  for (const Report& report : {testing::critical_report(), testing::probed_report()}) {
    const Json whole = Json::parse(render_json(report));
    int refused = 0;
    int tried = 0;
    for (const Place& place : places(whole)) {
      Json without = whole;
      without[place.at.parent_pointer()].erase(place.key);
      refused += check_answers(without, place);
      for (const Json& other : kOthers) {
        Json changed = whole;
        changed[place.at] = other;
        refused += check_answers(changed, place);
        ++tried;
      }
    }
    // Neither is everything that a report holds compared, nor is nothing of it needed.
    CHECK(refused > tried / 10);
    CHECK(refused < tried);
  }
}

}  // namespace
}  // namespace cudart_doctor
