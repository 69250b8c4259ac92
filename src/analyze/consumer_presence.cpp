#include "consumer_presence.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "runtime_signs.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

/// What a path says of the package that it belongs to.
struct PathSigns {
  std::optional<SitePath> site;
  std::string_view extension_folder;
  bool compiled_here = false;  ///< By FlashInfer.
};

PathSigns signs_of(std::string_view path, const PythonFacts& python) {
  PathSigns signs{split_site_path(path, python), {}, false};
  if (signs.site) return signs;
  signs.extension_folder = extension_folder(path);
  signs.compiled_here = path.find("/.cache/flashinfer/") != std::string_view::npos;
  return signs;
}

bool is_object_of(const KnownConsumer& known, const PathSigns& signs) {
  if (signs.site) {
    return std::any_of(known.folders.begin(), known.folders.end(), [&](std::string_view folder) {
      return !folder.empty() && signs.site->rest.starts_with(folder);
    });
  }
  return (signs.compiled_here && known.id == "flashinfer") ||
         signs.extension_folder == known.module;
}

bool is_module(std::string_view text, std::string_view module) {
  return text == module ||
         (text.starts_with(module) && text.substr(module.size()).starts_with("."));
}

/// The script that a Python interpreter was given; empty for -c and -m.
std::string_view script_of(std::span<const std::string> arguments) {
  if (arguments.empty() || !base_name(arguments[0]).starts_with("python")) return {};
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "-c" || argument == "-m") return {};
    if (argument == "-X" || argument == "-W") {
      ++i;
    } else if (!argument.starts_with("-")) {
      return argument;
    }
  }
  return {};
}

}  // namespace

std::string_view extension_folder(std::string_view path) {
  const std::string_view base = base_name(path);
  const bool extension = base.find(".abi3.so") != std::string_view::npos ||
                         base.find(".cpython-") != std::string_view::npos;
  return extension ? base_name(dir_name(path)) : std::string_view{};
}

std::vector<const LoadedObject*> find_mapped(std::span<const KnownConsumer> known,
                                             const Snapshot& snapshot) {
  std::vector<const LoadedObject*> found(known.size(), nullptr);
  for (const LoadedObject& object : snapshot.objects) {
    if (!object.executable) continue;
    const PathSigns signs = signs_of(object.path(), snapshot.python);
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (found[i] == nullptr && is_object_of(known[i], signs)) found[i] = &object;
    }
  }
  return found;
}

const LoadedObject* find_front_end(const Snapshot& snapshot) {
  for (const LoadedObject& object : snapshot.objects) {
    const bool given = std::any_of(
        object.uses_rules.begin(), object.uses_rules.end(),
        [](const auto& rule) { return rule == "cudnn-fe" || rule.starts_with("cudnn-frontend"); });
    const bool has_text = has_marker(object.content.get(), "Multiple libcudart libraries found") ||
                          has_marker(object.content.get(), "Unable to load any libcudart");
    // A program that searches for such texts, as this one, holds those of other libraries too.
    const bool searches_texts = has_marker(object.content.get(), "TileLang Error");
    if (given || (object.executable && has_text && !searches_texts)) return &object;
  }
  return nullptr;
}

bool is_in_command_line(const KnownConsumer& known, const Snapshot& snapshot) {
  const auto* arguments = snapshot.process.command_line.get();
  if (arguments == nullptr || arguments->empty()) return false;
  if (!known.title.empty() && arguments->front().starts_with(known.title)) return true;
  if (base_name(arguments->front()) == known.module ||
      base_name(script_of(*arguments)) == known.module) {
    return true;
  }
  const auto at = std::find(arguments->begin(), arguments->end(), "-m");
  return at != arguments->end() && at + 1 != arguments->end() && is_module(*(at + 1), known.module);
}

}  // namespace cudart_doctor
