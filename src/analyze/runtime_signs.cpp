#include "runtime_signs.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/content_scan.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kPublicPrefix = "libcudart.so.";

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool is_library_name(std::string_view name) {
  return name.starts_with("libcudart") || name.starts_with("libstub_cudart");
}

// From 13.1 on the runtime needs libstdc++, libm and libgcc_s too; before it did not.
bool is_system_library(std::string_view needed) {
  static constexpr std::array<std::string_view, 8> kPrefixes = {
      "libc.so.",  "ld-linux",      "libdl.so.", "libpthread.so.",
      "librt.so.", "libstdc++.so.", "libm.so.",  "libgcc_s.so."};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return needed.starts_with(prefix); });
}

void read_names(RuntimeSigns& signs, const ElfFacts& elf) {
  signs.name = parse_runtime_name(signs.base);
  signs.named_like_library = is_library_name(signs.base);
  // A program may be called after the runtime without pretending to be a library.
  const bool is_library_file = signs.base.find(".so") != std::string_view::npos;
  signs.name_has_cudart =
      signs.named_like_library ||
      (is_library_file && to_lower(signs.base).find("cudart") != std::string::npos);
  if (elf.soname) {
    signs.soname = parse_runtime_name(*elf.soname);
    signs.sonamed_like_library = is_library_name(*elf.soname);
  }
}

// patchelf changes the soname and leaves the version nodes: the node is the better witness.
void read_node(RuntimeSigns& signs, const ElfFacts& elf) {
  const auto take = [&](const std::string& node) {
    if (signs.node) return;
    if (const auto name = parse_runtime_name(node)) {
      signs.node = node;
      signs.node_major = name->major;
    }
  };
  if (elf.version_base) take(*elf.version_base);
  for (const std::string& node : elf.version_definitions) take(node);
}

// Other code stores a plausible number once in a while (libcufft does), so one hit says nothing.
void read_content(RuntimeSigns& signs, const ContentScan& content) {
  signs.content_seen = true;
  signs.yardstick = content.yardstick.size();
  for (const VersionConstant& found : content.constants) {
    if (found.count < 2) continue;
    if (signs.constant) signs.constants_disagree = true;
    signs.constant = found.value;
  }
  if (signs.constants_disagree) signs.constant.reset();
}

}  // namespace

std::optional<RuntimeName> parse_runtime_name(std::string_view name) {
  if (!name.starts_with(kPublicPrefix)) return std::nullopt;
  const std::string_view numbers = name.substr(kPublicPrefix.size());
  const auto parts = split(numbers, '.');
  if (parts.size() > 3) return std::nullopt;
  for (std::string_view part : parts) {
    if (!parse_unsigned(part, 10)) return std::nullopt;
  }
  const std::uint64_t major = *parse_unsigned(parts.front(), 10);
  if (major < 5 || major > 99) return std::nullopt;
  RuntimeName read;
  read.major = static_cast<int>(major);
  if (parts.size() == 3) read.full_version = std::string(numbers);
  return read;
}

std::size_t expected_yardstick(std::uint32_t constant) {
  if (constant >= 11080) return 4;
  return constant >= 11010 ? 3 : kFewestYardstickTexts;
}

RuntimeSigns gather_runtime_signs(std::string_view path, const ElfFacts& elf,
                                  const ContentScan* content) {
  RuntimeSigns signs;
  signs.base = base_name(path);
  read_names(signs, elf);
  read_node(signs, elf);
  if (content != nullptr) read_content(signs, *content);
  signs.exports_known = elf.symbols_walked;
  signs.exported = elf.census.runtime;
  signs.is_cut = elf.file_size != 0 && elf.required_size > elf.file_size;
  for (const std::string& needed : elf.needed) {
    if (!is_system_library(needed)) signs.foreign_needs.push_back(needed);
  }
  return signs;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kWidth = 40;
  std::string printable = escape_foreign(text.substr(0, kWidth));
  if (text.size() > kWidth) printable += "...";
  return printable;
}

std::string constant_version(std::uint32_t constant) {
  return std::to_string(constant / 1000) + "." + std::to_string(constant % 1000 / 10);
}

bool is_selectable_name(std::string_view base) {
  const std::size_t at = base.rfind(".so");
  const std::string_view stem =
      at == std::string_view::npos ? std::string_view{} : base.substr(0, at);
  return stem.starts_with("libcudart") || base.starts_with("libcudart.") ||
         base.starts_with("libcudart-");
}

bool ends_like_library(std::string_view base) {
  const std::size_t at = base.rfind(".so");
  return at != std::string_view::npos &&
         base.find_first_not_of("0123456789.", at + 3) == std::string_view::npos;
}

bool has_marker(const ContentScan* content, std::string_view needle) {
  if (content == nullptr) return false;
  return std::any_of(
      content->markers.begin(), content->markers.end(),
      [&](const std::string& text) { return text.find(needle) != std::string::npos; });
}

}  // namespace cudart_doctor
