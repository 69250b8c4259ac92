// Prints the command line's description as JSON, for make_man.py and make_completions.py.
#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cudart_doctor/app/option_table.hpp"
#include "cudart_doctor/model/exit_style.hpp"

namespace {

using namespace cudart_doctor;
using nlohmann::ordered_json;

std::string_view name_of_kind(ValueKind kind) {
  switch (kind) {
    case ValueKind::none: return "none";
    case ValueKind::text: return "text";
    case ValueKind::words: return "words";
    case ValueKind::list: return "list";
    case ValueKind::file: return "file";
    case ValueKind::directory: return "directory";
    case ValueKind::process: return "process";
  }
  return {};
}

ordered_json rows(const std::vector<OptionRow>& options) {
  ordered_json out = ordered_json::array();
  for (const OptionRow& each : options) {
    out.push_back({{"names", each.names},
                   {"placeholder", each.placeholder},
                   {"text", each.text},
                   {"kind", name_of_kind(each.kind)},
                   {"words", each.words},
                   {"list", each.list},
                   {"required", each.required},
                   {"value_optional", each.value_optional},
                   {"repeatable", each.repeatable}});
  }
  return out;
}

ordered_json exit_codes() {
  constexpr std::array kEnds = {RunEnd::ok, RunEnd::warned, RunEnd::findings, RunEnd::usage,
                                RunEnd::undecided};
  ordered_json out = ordered_json::object();
  for (std::size_t style = 0; style < kExitStyleNames.size(); ++style) {
    for (const RunEnd end : kEnds) {
      out[std::string(kExitStyleNames[style])].push_back(
          exit_code_of(end, static_cast<ExitStyle>(style)));
    }
  }
  return out;
}

}  // namespace

int main() {
  const CommandTable table = describe_command_line();
  ordered_json commands = ordered_json::array();
  for (const CommandRow& each : table.commands) {
    commands.push_back({{"name", each.name},
                        {"text", each.text},
                        {"usage", each.usage},
                        {"footer", each.footer},
                        {"options", rows(each.options)},
                        {"shared", rows(each.shared)}});
  }
  ordered_json lists = ordered_json::object();
  for (const OfferedList& list : table.lists) {
    ordered_json& words = lists[list.id] = ordered_json::array();
    for (const OfferedWord& each : list.words) words.push_back({each.word, each.text});
  }
  std::cout << ordered_json{{"version", table.version},
                            {"commands", commands},
                            {"lists", lists},
                            {"exit_codes", exit_codes()}}
                   .dump(1)
            << "\n";
  return 0;
}
