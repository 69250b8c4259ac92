// The frame of a report, then each part.
#include "cudart_doctor/formats/report_json.hpp"

#include <iterator>
#include <nlohmann/json.hpp>

#include "cudart_doctor/base/text.hpp"
#include "report_document.hpp"
#include "report_traits.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

constexpr int kSchemaVersion = 1;

Result<void> check_kind(const Json& document) {
  const auto is_text = [](const Json& from, const char* key) {
    return from.is_object() && from.contains(key) && from[key].is_string();
  };
  if (!document.is_object() || !document.contains("schema_version")) {
    return fail(ErrorKind::unsupported, "it is no report of cudart-doctor");
  }
  if (document["schema_version"] != kSchemaVersion) {
    const std::string given = document["schema_version"].is_number()
                                  ? " " + document["schema_version"].dump()
                                  : std::string();
    return fail(ErrorKind::unsupported,
                "its schema version" + given + " is not 1, the only one that this program knows");
  }
  if (document.contains("error")) {
    const Json& error = document["error"];
    const std::string message =
        is_text(error, "message")
            ? ": " + escape_foreign(error["message"].get_ref<const std::string&>().substr(0, 200))
            : std::string();
    return fail(ErrorKind::unsupported, "it is of a run that ended without a report" + message);
  }
  if (!document.contains("findings") || !document.contains("runtimes")) {
    return fail(ErrorKind::unsupported,
                "it is no report; `policies`, `explain` and `diff` print documents of their own");
  }
  return {};
}

std::string title_of(ReportReader& reader, const Json& report) {
  const Json& target = reader.object(report, "target");
  if (reader.text(target, "mode") == "environment") return "environment only";
  const Json& pid = target.contains("pid") ? target["pid"] : Json();
  return "pid " + (pid.is_number_integer() ? pid.dump() : "?") + " " + reader.text(target, "title");
}

std::vector<std::string> blind_spots(ReportReader& reader, const Json& report) {
  const Json& capture = reader.object(report, "capture");
  std::vector<std::string> out;
  const std::size_t unread = reader.array(capture, "unread").size();
  if (unread != 0) out.push_back(count_of(unread, "object") + " could not be read");
  const std::size_t folders =
      reader.array(reader.object(report, "python"), "unread_directories").size();
  if (folders != 0) {
    out.push_back(count_of(folders, "Python directory", "Python directories") +
                  " could not be read");
  }
  if (reader.flag(capture, "maps_truncated")) out.emplace_back("the list of mappings was cut");
  if (!reader.flag(capture, "maps_consistent")) {
    out.emplace_back("the list of mappings changed while it was read");
  }
  return out;
}

void append(std::vector<Trait>& to, std::vector<Trait> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

ReportDigest read_digest(ReportReader& reader, const Json& report) {
  ReportDigest out;
  out.tool_version = reader.text(reader.object(report, "tool"), "version");
  out.host = reader.text_or_null(reader.object(report, "host"), "name").value_or("");
  out.generated_at = reader.text_or_null(report, "generated_at").value_or("");
  out.title = title_of(reader, report);
  out.sentence = reader.text(reader.object(report, "headline"), "sentence");
  out.policy = reader.text_or_null(reader.object(report, "headline"), "policy").value_or("");
  const Json& verdict = reader.object(report, "verdict");
  out.worst = reader.text_or_null(verdict, "worst").value_or("");
  out.undecided = reader.text_or_null(verdict, "undecided").has_value();
  out.blind = blind_spots(reader, report);
  RuntimeTraits runtimes = runtime_traits(reader, report);
  out.order = std::move(runtimes.order);
  out.order_titles = std::move(runtimes.order_titles);
  out.traits = verdict_traits(reader, report);
  append(out.traits, finding_traits(reader, report));
  append(out.traits, std::move(runtimes.traits));
  // Reports from before recordings have no such key.
  if (const auto run = report.find("run"); run != report.end() && !run->is_null()) {
    append(out.traits, load_traits(reader, report, reader.object(report, "run")));
  } else {
    out.unread.push_back({Area::loads, "not started by run", false});
  }
  append(out.traits, selection_traits(reader, report));
  append(out.traits, consumer_traits(reader, report));
  append(out.traits, driver_traits(reader, report));
  const auto environment = report.find("environment");
  if (environment != report.end() && environment->is_null()) {
    out.unread.push_back({Area::environment,
                          reader.text_or_null(report, "environment_reason").value_or("unknown"),
                          true});
  } else {
    append(out.traits, variable_traits(reader, reader.object(report, "environment")));
  }
  append(out.traits, probe_traits(reader, report));
  append(out.traits, namespace_traits(reader, report));
  return out;
}

}  // namespace

Result<ReportDigest> parse_report(std::string_view text) {
  const auto document = parse_document(text);
  if (!document) return tl::unexpected(document.error());
  const auto kind = check_kind(*document);
  if (!kind) return tl::unexpected(kind.error());
  ReportReader reader;
  ReportDigest digest = read_digest(reader, *document);
  if (!reader.error().empty()) {
    return fail(ErrorKind::malformed, "it is no sound report: " + reader.error());
  }
  return digest;
}

}  // namespace cudart_doctor
