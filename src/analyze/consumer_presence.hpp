// The signs that a consumer is in the target: mapped objects and the command line.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// What is known of a consumer beforehand.
struct KnownConsumer {
  std::string_view id;
  std::string_view name;
  std::string_view distribution;
  std::string_view module;  ///< Folder on the Python path, and word on the command line.
  std::string_view title;   ///< How process titles of it begin.
  /// Where its mapped objects lie, below a site directory.
  std::array<std::string_view, 4> folders;
  /// Files that may define its search through maps; the first one lists the bound names.
  std::array<std::string_view, 2> sources;
  /// Other distributions that bring it: one a CUDA release, or its earlier name.
  std::array<std::string_view, 3> other_distributions = {};
};

/// The name of the folder directly around an extension module; empty for other files. A checkout's
/// name says nothing: /home/u/vllm/venv holds every other package too.
std::string_view extension_folder(std::string_view path);

/// For each consumer the first loaded object that belongs to it; nullptr where there is none.
std::vector<const LoadedObject*> find_mapped(std::span<const KnownConsumer> known,
                                             const Snapshot& snapshot);

/// The first loaded object with cuDNN's front end compiled in, whatever package it is of
/// (TransformerEngine has a copy): by its texts.
const LoadedObject* find_front_end(const Snapshot& snapshot);

/// Whether the command line names the consumer: program, script, module after -m, process title.
bool is_in_command_line(const KnownConsumer& known, const Snapshot& snapshot);

}  // namespace cudart_doctor
