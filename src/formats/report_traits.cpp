// What counts of each part of a report: everything that decides which runtime is used, and nothing
// that changes from one look to the next (PIDs, times, addresses, inode numbers).
#include "report_traits.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

using Json = nlohmann::json;

Attribute known(std::string_view name, std::string value) {
  return {std::string(name), std::move(value), true};
}

/// A trait that is told by one key alone.
Trait simple(Area area, const std::string& key, std::string title) {
  return {area, {key, key, key}, std::move(title), {}};
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

/// A CUDA result code with its name, as the report gives both.
Attribute code_attribute(ReportReader& reader, const Json& from) {
  Attribute out = reader.attribute(from, "code", "code", "none");
  if (const auto name = reader.text_or_null(from, "code_name")) out.value += " " + *name;
  return out;
}

}  // namespace

std::vector<Trait> verdict_traits(ReportReader& reader, const Json& report) {
  const Json& verdict = reader.object(report, "verdict");
  // The exit code follows from these two and --fail-on, which is no fact of the process.
  Trait out = simple(Area::verdict, "verdict", "verdict");
  out.attributes.push_back(reader.attribute(verdict, "worst", "gravest finding", "none"));
  const bool undecided = reader.text_or_null(verdict, "undecided").has_value();
  out.attributes.push_back(known("decided", yes_no(!undecided)));
  return {out};
}

std::vector<Trait> finding_traits(ReportReader& reader, const Json& report) {
  std::vector<Trait> out;
  for (const Json& finding : reader.array(report, "findings")) {
    const std::string id = reader.text(finding, "id");
    const std::string consumer = reader.text_or_null(finding, "consumer").value_or("");
    const std::string headline = reader.text(finding, "headline");
    const std::string identity = id + "\n" + consumer;
    Trait trait{Area::findings, {identity + "\n" + headline, identity, id}, {}, {}};
    trait.title = id + " " + headline;
    trait.attributes = {reader.attribute(finding, "severity", "severity", ""),
                        known("consumer", consumer.empty() ? "none" : consumer)};
    out.push_back(std::move(trait));
  }
  return out;
}

std::vector<Trait> consumer_traits(ReportReader& reader, const Json& report) {
  std::vector<Trait> out;
  for (const Json& consumer : reader.array(report, "consumers")) {
    Trait trait =
        simple(Area::consumers, reader.text(consumer, "id"), reader.text(consumer, "name"));
    trait.attributes.push_back(reader.attribute(consumer, "presence", "presence", ""));
    trait.attributes.push_back(reader.attribute(consumer, "version", "version", "none"));
    trait.attributes.push_back(reader.attribute(consumer, "vintage", "rule", "none"));
    out.push_back(std::move(trait));
  }
  return out;
}

std::vector<Trait> driver_traits(ReportReader& reader, const Json& report) {
  Trait module = simple(Area::driver, "kernel module", "kernel module");
  module.attributes.push_back(
      reader.attribute(reader.object(report, "host"), "kernel_module", "version", "none"));
  std::vector<Trait> out{std::move(module)};
  for (const Json& companion : reader.array(report, "companions")) {
    const std::string path = reader.text(companion, "path");
    const std::string kind = reader.text(companion, "kind");
    // "driver_stub" is of the family "driver": an upgrade changes the file's name.
    const std::string family = kind.substr(0, kind.find('_'));
    Trait trait{Area::driver, {path, path, family}, std::string(base_name(path)), {}};
    trait.attributes = {known("path", path), known("kind", kind)};
    trait.attributes.push_back(reader.attribute(companion, "version", "version", "none"));
    trait.attributes.push_back(known("loaded", yes_no(reader.flag(companion, "loaded"))));
    trait.attributes.push_back(reader.attribute(companion, "state", "file", "not mapped"));
    out.push_back(std::move(trait));
  }
  return out;
}

std::vector<Trait> variable_traits(ReportReader& reader, const Json& environment) {
  std::vector<Trait> out;
  for (const Json& variable : reader.array(environment, "variables")) {
    const std::string name = reader.text(variable, "name");
    Trait trait = simple(Area::environment, name, name);
    trait.attributes.push_back(reader.attribute(variable, "value", "value", ""));
    out.push_back(std::move(trait));
  }
  return out;
}

std::vector<Trait> probe_traits(ReportReader& reader, const Json& report) {
  const Json& verdict = reader.object(reader.object(report, "probe"), "verdict");
  Trait whole = simple(Area::probe, "verdict", "probe");
  whole.attributes.push_back(reader.attribute(verdict, "outcome", "outcome", ""));
  whole.attributes.push_back(reader.attribute(verdict, "finding", "finding", "none"));
  whole.attributes.push_back(reader.attribute(verdict, "stage", "stage", "none"));
  whole.attributes.push_back(code_attribute(reader, verdict));
  std::vector<Trait> out{std::move(whole)};
  for (const Json& each : reader.array(verdict, "sharing")) {
    const std::string mechanism = reader.text(each, "mechanism");
    Trait trait = simple(Area::probe, "sharing " + mechanism, "sharing by " + mechanism);
    trait.attributes.push_back(reader.attribute(each, "outcome", "outcome", ""));
    out.push_back(std::move(trait));
  }
  return out;
}

std::vector<Trait> namespace_traits(ReportReader& reader, const Json& report) {
  const Json& target = reader.object(report, "target");
  std::vector<Trait> out;
  for (const Json& space : reader.array(target, "namespaces")) {
    const std::string name = reader.text(space, "name");
    Trait trait = simple(Area::namespaces, name, name + " namespace");
    // The number is another one after each start of a container.
    Attribute shared = reader.attribute(space, "shared_with_doctor", "of", "");
    if (shared.known) shared.value = shared.value == "true" ? "the doctor's" : "its own";
    trait.attributes.push_back(std::move(shared));
    out.push_back(std::move(trait));
  }
  Trait depth = simple(Area::namespaces, "depth of pid", "PID namespaces");
  depth.attributes.push_back(
      known("nested", std::to_string(reader.array(target, "ns_pids").size())));
  out.push_back(std::move(depth));
  return out;
}

}  // namespace cudart_doctor
