// The command line as data: what the man page and the completions of shells are generated from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cudart_doctor {

/// What stands for an option's value.
enum class ValueKind : std::uint8_t { none, text, words, list, file, directory, process };

struct OptionRow {
  std::vector<std::string> names;  ///< "-o", "--output"; none: an argument by its place.
  std::string placeholder;         ///< "FILE", "auto|always|never"; "" for a flag.
  std::string text;
  ValueKind kind = ValueKind::none;
  std::vector<std::string> words;  ///< Of words: all of them.
  std::string list;                ///< Of list: the id of an OfferedList.
  bool required = false;
  bool value_optional = false;  ///< "--explain-selection [ID]".
  bool repeatable = false;
};

struct CommandRow {
  std::string name;  ///< "" for the program without a subcommand.
  std::string text;
  std::string usage;   ///< "cudart-doctor snapshot [OPTIONS]"
  std::string footer;  ///< What --help says behind the options.
  std::vector<OptionRow> options;
  /// Options of the program that the subcommand takes too, with the words that mean something
  /// there.
  std::vector<OptionRow> shared;
};

struct OfferedWord {
  std::string word;
  std::string text;  ///< One line; may be empty.
};

struct OfferedList {
  std::string id;
  std::vector<OfferedWord> words;
};

struct CommandTable {
  std::string version;
  std::vector<CommandRow> commands;  ///< The first is the program itself.
  std::vector<OfferedList> lists;
};

/// Built from the parser itself. Which options of the program a subcommand takes is found by
/// parsing such lines; nothing is inspected.
CommandTable describe_command_line();

}  // namespace cudart_doctor
