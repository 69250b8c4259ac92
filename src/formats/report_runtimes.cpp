// Runtimes and the rules' answers of a report. References such as "A" hold within one report only,
// so an answer is told by the path of the runtime that it ends at.
#include <map>

#include "cudart_doctor/base/text.hpp"
#include "report_traits.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNone = "none";

std::string runtime_title(ReportReader& reader, const Json& runtime) {
  std::string out(base_name(reader.text(runtime, "path")));
  if (const auto version = reader.text_or_null(runtime, "version")) out += " " + *version;
  const std::string kind = reader.text(runtime, "kind");
  if (kind == "static_copy") return "static copy in " + out;
  if (kind != "genuine") out += " (" + kind + ")";
  return out;
}

/// What the file is by its contents; by its path where it carries no build-id.
std::string identity_of(ReportReader& reader, const Json& runtime) {
  const std::string prefix = reader.text(runtime, "kind") == "static_copy" ? "static " : "";
  const auto build = reader.text_or_null(runtime, "build_id");
  return prefix + (build ? "build-id " + *build : "path " + reader.text(runtime, "path"));
}

std::string place_of(ReportReader& reader, const Json& runtime) {
  if (reader.flag(runtime, "loaded")) return "loaded";
  return reader.flag(runtime, "mapped") ? "mapped as data" : "on disk only";
}

/// ", REPLACED": what a runtime's name must not be read without.
std::string state_title(ReportReader& reader, const Json& runtime) {
  const std::string state = reader.text_or_null(runtime, "state").value_or("");
  if (state == "deleted") return ", DELETED";
  return state == "replaced" ? ", REPLACED" : "";
}

Trait runtime_trait(ReportReader& reader, const Json& runtime, const std::string& identity) {
  const std::string path = reader.text(runtime, "path");
  Trait out{Area::runtimes, {identity + "\n" + path, identity, path}, {}, {}};
  const std::string place = place_of(reader, runtime);
  out.title = runtime_title(reader, runtime) + (place == "loaded" ? "" : ", " + place) +
              state_title(reader, runtime);
  out.attributes = {{"path", path, true}, {"place", place, true}};
  out.attributes.push_back(reader.attribute(runtime, "kind", "kind", ""));
  out.attributes.push_back(reader.attribute(runtime, "version", "version", kNone));
  out.attributes.push_back(reader.attribute(runtime, "build_id", "build-id", kNone));
  out.attributes.push_back(reader.attribute(runtime, "state", "file", "not mapped"));
  out.attributes.push_back(reader.attribute(runtime, "soname", "soname", kNone));
  out.attributes.push_back(reader.attribute(runtime, "missing", "missing names", kNone));
  out.attributes.push_back(reader.attribute(runtime, "package", "package", kNone));
  return out;
}

/// Path of each runtime by its reference.
std::map<std::string, std::string> paths_by_ref(ReportReader& reader, const Json& report) {
  std::map<std::string, std::string> out;
  for (const Json& runtime : reader.array(report, "runtimes")) {
    out.emplace(reader.text(runtime, "ref"), reader.text(runtime, "path"));
  }
  return out;
}

/// The path of what the rule takes, where it is known; a loader's rule is asked for a bare name.
Attribute taken_attribute(ReportReader& reader, const Json& row,
                          const std::map<std::string, std::string>& paths) {
  Attribute taken = reader.attribute(row, "chosen", "takes", kNone);
  const auto ref = reader.text_or_null(row, "runtime");
  const auto on_disk = reader.text_or_null(row, "disk_path");
  if (ref && paths.contains(*ref)) {
    taken.value = paths.at(*ref);
  } else if (on_disk) {
    taken.value = *on_disk;
  } else if (reader.text(row, "outcome") == "not_found") {
    taken.value = kNone;
  }
  return taken;
}

}  // namespace

RuntimeTraits runtime_traits(ReportReader& reader, const Json& report) {
  RuntimeTraits out;
  for (const Json& runtime : reader.array(report, "runtimes")) {
    const std::string identity = identity_of(reader, runtime);
    out.traits.push_back(runtime_trait(reader, runtime, identity));
    // Nobody can select a static copy, wherever it lies.
    if (!reader.flag(runtime, "mapped") || reader.text(runtime, "kind") == "static_copy") continue;
    out.order.push_back(identity);
    out.order_titles.push_back(out.traits.back().title);
  }
  return out;
}

std::vector<Trait> selection_traits(ReportReader& reader, const Json& report) {
  const auto paths = paths_by_ref(reader, report);
  std::vector<Trait> out;
  for (const Json& row : reader.array(report, "selections")) {
    const std::string policy = reader.text(row, "policy");
    const std::string title = reader.text_or_null(row, "title").value_or(policy);
    Trait trait{Area::selections, {policy, policy, policy}, title, {}};
    const std::string presence = reader.text(row, "presence");
    trait.attributes = {{"presence", presence, true}};
    // What a consumer would take that is not there follows from the rest and concerns nobody.
    if (presence != "absent") {
      trait.attributes.push_back(taken_attribute(reader, row, paths));
      trait.attributes.push_back(reader.attribute(row, "outcome", "outcome", ""));
      trait.attributes.push_back(reader.attribute(row, "result", "result", ""));
      trait.attributes.push_back(reader.attribute(row, "error_text", "error", kNone));
      trait.attributes.push_back(reader.attribute(row, "stability", "stability", ""));
    }
    out.push_back(std::move(trait));
  }
  return out;
}

}  // namespace cudart_doctor
