// What a recorded command loaded: which libraries of CUDA, who asked for each, and on which side of
// the first genuine runtime.
#include <algorithm>
#include <array>
#include <optional>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/model/recording.hpp"
#include "report_traits.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

/// A load of the judged process.
struct Load {
  const Json* event = nullptr;
  std::string name;
  bool genuine = false;
};

bool is_hex(char letter) {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
}

/// "libcudart-1234abcd.so.12" without the digits that a packer put in: each build has others.
std::string without_hash(std::string name) {
  constexpr std::size_t kDigits = 8;
  const std::size_t end = name.find(".so");
  if (end == std::string::npos || end < kDigits + 1) return name;
  const std::size_t begin = end - kDigits;
  const std::string_view digits = std::string_view(name).substr(begin, kDigits);
  if (name[begin - 1] == '-' && std::ranges::all_of(digits, is_hex)) {
    name.erase(begin - 1, kDigits + 1);
  }
  return name;
}

bool has_cuda_name(const std::string& name) {
  constexpr std::array<std::string_view, 3> kNames = {"libcudart", "libcuda.", "libnvrtc"};
  return std::ranges::any_of(kNames, [&](auto prefix) { return name.starts_with(prefix); });
}

/// refs of the genuine runtimes.
std::vector<std::string> genuine_refs(ReportReader& reader, const Json& report) {
  std::vector<std::string> out;
  for (const Json& runtime : reader.array(report, "runtimes")) {
    if (reader.text(runtime, "kind") == "genuine") out.push_back(reader.text(runtime, "ref"));
  }
  return out;
}

std::vector<Load> loads_of(ReportReader& reader, const Json& report, const Json& run) {
  const std::vector<std::string> genuine = genuine_refs(reader, report);
  std::vector<Load> out;
  for (const Json& event : reader.array(run, "events")) {
    if (!reader.flag(event, "of_judged") || reader.text(event, "kind") != "load") continue;
    const auto ref = reader.text_or_null(event, "runtime");
    const auto companion = event.find("companion");
    const bool accompanies = companion != event.end() && companion->is_number();
    Load load{&event, std::string(base_name(reader.text(event, "path"))), false};
    if (!ref && !accompanies && !has_cuda_name(load.name)) continue;
    load.genuine = ref && std::ranges::find(genuine, *ref) != genuine.end();
    out.push_back(std::move(load));
  }
  return out;
}

/// "tilelang:131 <- vllm.layers.mhc:12": modules, since paths are the machine's.
std::vector<std::string> python_places(ReportReader& reader, const Json& event) {
  std::vector<std::string> out;
  std::string file_before;
  for (const Json& frame : reader.array(event, "python")) {
    const std::string file = reader.text(frame, "file");
    const auto module = reader.text_or_null(frame, "module");
    if (file == file_before || loads_for_callers(module.value_or(""))) continue;
    file_before = file;
    // Every program's own module has one name.
    const bool named = module && *module != "__main__";
    out.push_back((named ? *module : std::string(base_name(file))) + ":" +
                  std::to_string(reader.count(frame, "line")));
  }
  return out;
}

std::string how(ReportReader& reader, const Json& event, const std::vector<std::string>& places) {
  const std::string cause = reader.text(event, "cause");
  const std::string by(base_name(reader.text_or_null(event, "requester").value_or("")));
  if (cause == "program") return "the program itself";
  if (cause == "preload") return "preloaded";
  if (cause == "needed") return "needed by " + by;
  if (cause != "opened") return "who asked is not known";
  if (!places.empty()) return "dlopened at " + places.front();
  return by.empty() ? "dlopened" : "dlopened by " + by;
}

}  // namespace

std::vector<Trait> load_traits(ReportReader& reader, const Json& report, const Json& run) {
  const std::vector<Load> loads = loads_of(reader, report, run);
  const auto first = std::ranges::find_if(loads, [](const Load& load) { return load.genuine; });
  std::vector<Trait> out;
  for (auto load = loads.begin(); load != loads.end(); ++load) {
    const std::vector<std::string> places = python_places(reader, *load->event);
    std::string loaded = how(reader, *load->event, places);
    if (first != loads.end() && load != first) {
      loaded.append(load < first ? ", before " : ", after ").append(without_hash(first->name));
    }
    const std::string identity = without_hash(load->name);
    Trait trait{Area::loads, {load->name + "\n" + loaded, identity, identity}, load->name, {}};
    trait.attributes.push_back({"loaded", std::move(loaded), true});
    const std::vector<std::string> callers(places.begin() + (places.empty() ? 0 : 1), places.end());
    trait.attributes.push_back({"for", callers.empty() ? "none" : join(callers, " <- "), true});
    out.push_back(std::move(trait));
  }
  return out;
}

}  // namespace cudart_doctor
