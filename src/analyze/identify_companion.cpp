// Driver, NVRTC and NVML libraries. NVIDIA's stubs carry the genuine soname, nodes and build-id,
// and export more than older drivers do: only code, size, needs and texts tell them apart.
#include <algorithm>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/base/text.hpp"
#include "runtime_signs.hpp"

namespace cudart_doctor {
namespace {

enum class Family : std::uint8_t { none, driver, nvrtc, nvml };

/// Genuine drivers have 20 MB and more, link-time stubs about 100 kB.
constexpr std::uint64_t kSmallDriver = 1'000'000;
/// Genuine NVRTC and NVML libraries have megabytes, their stubs a few kB.
constexpr std::uint64_t kSmallLibrary = 300'000;

struct Input {
  std::string_view path;
  std::string_view base;
  const ElfFacts& elf;
  const ContentScan* content;
};

void say(Companion& companion, std::string sentence) {
  companion.evidence.push_back(std::move(sentence));
}

// libnvrtc-builtins and libcudadebugger begin alike and are none of these.
Family family_of_name(std::string_view name) {
  if (name.starts_with("libcuda.so") || name == "libcuda_stub.so" || name == "libstub_cuda.so") {
    return Family::driver;
  }
  if (name.starts_with("libnvrtc-builtins")) return Family::none;
  if (name.starts_with("libnvrtc.") || name.starts_with("libnvrtc-") ||
      name == "libnvrtc_stub.so" || name == "libstub_nvrtc.so") {
    return Family::nvrtc;
  }
  if (name.starts_with("libnvidia-ml.so")) return Family::nvml;
  return Family::none;
}

Family family_of(std::string_view base, const ElfFacts* elf) {
  const Family by_name = family_of_name(base);
  if (by_name != Family::none || elf == nullptr || !elf->soname) return by_name;
  return family_of_name(*elf->soname);
}

/// "550.163.01" of "libcuda.so.550.163.01"; the ".1" of the soname (and ".1.1" on Tegra and WSL) is
/// no driver version.
std::string version_in_name(std::string_view base) {
  const std::size_t at = base.find(".so.");
  if (at == std::string_view::npos) return {};
  const std::string_view numbers = base.substr(at + 4);
  const auto parts = split(numbers, '.');
  const auto all_numbers = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return parse_unsigned(part, 10).has_value();
  });
  if (!all_numbers || parts.size() < 2 || *parse_unsigned(parts.front(), 10) < 100) return {};
  return std::string(numbers);
}

void fill_version(Companion& companion, const Input& in) {
  const std::string by_name = version_in_name(in.base);
  const bool has_text = in.content != nullptr && in.content->text_version.has_value();
  if (!by_name.empty()) {
    companion.version = by_name;
    companion.version_from = "file name";
    if (has_text && *in.content->text_version != by_name) {
      say(companion, "its text says version " + shown(*in.content->text_version));
    }
  } else if (has_text) {
    companion.version = *in.content->text_version;
    companion.version_from = "text in the library";
  }
}

bool is_cut(const ElfFacts& elf) { return elf.file_size != 0 && elf.required_size > elf.file_size; }

std::string cut_sentence(const ElfFacts& elf) {
  return "file has " + std::to_string(elf.file_size) + " bytes, its segments need " +
         std::to_string(elf.required_size);
}

bool exports(const ElfFacts& elf, std::string_view name) {
  return std::find(elf.exports.begin(), elf.exports.end(), name) != elf.exports.end();
}

bool is_driver_shim(Companion& companion, const Input& in) {
  if (has_marker(in.content, "CUDA driver library (libcuda.so) not found")) {
    say(companion, "text of TileLang's driver shim found");
  }
  const std::string_view name = in.elf.soname ? std::string_view(*in.elf.soname) : in.base;
  if (name == "libcuda_stub.so" || name == "libstub_cuda.so") {
    say(companion, "named like TileLang's driver shim");
  }
  // TileLang's build makes a libcuda.so with one function and no soname.
  const bool partial = in.elf.symbols_walked && in.elf.census.driver > 0 &&
                       in.elf.census.driver < 100 && !exports(in.elf, "cuInit");
  if (partial && !in.elf.soname) say(companion, "has no soname");
  const bool found = !companion.evidence.empty();
  if (found && in.elf.symbols_walked) {
    say(companion, count_of(in.elf.census.driver, "driver function") + " exported");
  }
  return found;
}

bool is_driver_stub(Companion& companion, const Input& in) {
  const bool constant = in.elf.cu_init_is_constant == true;
  const bool needs_nothing = in.elf.needed.empty();
  if (in.elf.file_size >= kSmallDriver || in.elf.cu_init_is_constant == false) return false;
  // Without a look at cuInit the other three signs must agree.
  if (!constant && (!needs_nothing || !version_in_name(in.base).empty())) return false;
  if (constant) say(companion, "cuInit returns a constant");
  if (needs_nothing) say(companion, "needs no library, a driver needs libc");
  if (in.elf.file_size != 0) {
    say(companion, "only " + std::to_string(in.elf.file_size) + " bytes, a driver has megabytes");
  }
  if (version_in_name(in.base).empty()) say(companion, "no driver version in the file's name");
  return true;
}

/// cuda-compat's own places: /usr/local/cuda-N/compat, conda's cuda-compat.
bool in_compat_folder(std::string_view path) {
  for (const std::string_view component : split(dir_name(path), '/')) {
    if (component == "compat" || component == "cuda-compat") return true;
  }
  return false;
}

CompanionKind broken(Companion& companion, std::string sentence) {
  say(companion, std::move(sentence));
  return CompanionKind::driver_broken;
}

CompanionKind judge_driver(Companion& companion, const Input& in) {
  if (is_cut(in.elf)) return broken(companion, cut_sentence(in.elf));
  if (is_driver_shim(companion, in)) return CompanionKind::driver_shim;
  if (!in.elf.has_dynamic) return broken(companion, "no dynamic section: no shared library");
  if (!in.elf.soname) return broken(companion, "has no soname, a driver has libcuda.so.1");
  if (!in.elf.soname->starts_with("libcuda.so")) {
    return broken(companion, "soname is " + shown(*in.elf.soname) + ", not libcuda.so.1");
  }
  if (in.elf.symbols_walked && !exports(in.elf, "cuInit")) {
    return broken(companion, "does not export cuInit");
  }
  if (is_driver_stub(companion, in)) return CompanionKind::driver_stub;
  if (in.elf.needed.empty()) {
    say(companion, "needs no library as a stub, but is none by its size or code");
    return CompanionKind::undetermined;
  }
  fill_version(companion, in);
  if (in.elf.file_size != 0) say(companion, std::to_string(in.elf.file_size) + " bytes");
  if (in.elf.cu_init_is_constant == false) say(companion, "cuInit is real code");
  if (!in.elf.compat_note) return CompanionKind::driver;
  if (in_compat_folder(in.path)) {
    say(companion, "forward-compatibility note, in a compat folder");
    return CompanionKind::driver_compat;
  }
  // Since the 580 branch the ordinary driver carries the note as well.
  say(companion, "forward-compatibility note, in no compat folder");
  return CompanionKind::driver;
}

CompanionKind judge_nvrtc(Companion& companion, const Input& in) {
  if (is_cut(in.elf)) {
    say(companion, cut_sentence(in.elf));
    return CompanionKind::undetermined;
  }
  const std::string_view name = in.elf.soname ? std::string_view(*in.elf.soname) : in.base;
  if (has_marker(in.content, "NVRTC stub: libnvrtc not found") || name == "libnvrtc_stub.so" ||
      name == "libstub_nvrtc.so") {
    say(companion, "text or name of TileLang's NVRTC shim");
    return CompanionKind::nvrtc_shim;
  }
  if (has_marker(in.content, "stub version of nvrtc")) {
    say(companion, "text of NVIDIA's NVRTC stub found");
    return CompanionKind::nvrtc_stub;
  }
  fill_version(companion, in);
  const bool small = in.elf.file_size != 0 && in.elf.file_size < kSmallLibrary;
  if (small && companion.version.empty()) {
    say(companion, "only " + std::to_string(in.elf.file_size) + " bytes and no version text");
    return CompanionKind::nvrtc_stub;
  }
  say(companion,
      companion.version.empty() ? "soname and size of NVRTC" : "carries its version as text");
  return CompanionKind::nvrtc;
}

CompanionKind judge_nvml(Companion& companion, const Input& in) {
  if (is_cut(in.elf)) {
    say(companion, cut_sentence(in.elf));
    return CompanionKind::undetermined;
  }
  const bool small = in.elf.file_size != 0 && in.elf.file_size < kSmallLibrary;
  if (has_marker(in.content, "is a stub library")) {
    say(companion, "text of NVIDIA's NVML stub found");
    return CompanionKind::nvml_stub;
  }
  fill_version(companion, in);
  if (small && in.elf.needed.empty() && companion.version.empty()) {
    say(companion, "small, needs no library, no version in the file's name");
    return CompanionKind::nvml_stub;
  }
  say(companion, "soname and size of NVML");
  return CompanionKind::nvml;
}

// The loader ends its search at a file that is too short or no ELF, and skips one of another word
// size: only the first kind stands in a driver's way.
CompanionKind judge_unread(Companion& companion, Family family, const std::string& reason) {
  say(companion, "not read: " + shown(reason));
  if (family != Family::driver) return CompanionKind::undetermined;
  for (std::string_view text :
       {"empty file", "not an ELF", "ends inside", "ends before", "ends early"}) {
    if (reason.find(text) != std::string::npos) return CompanionKind::driver_broken;
  }
  if (reason.find("32-bit") != std::string::npos)
    say(companion, "the loader skips a file of another word size");
  return CompanionKind::undetermined;
}

}  // namespace

Companion identify_companion(std::string_view path, const Fact<ElfFacts>& elf,
                             const Fact<ContentScan>& content) {
  Companion companion;
  companion.path = std::string(path);
  const std::string_view base = base_name(path);
  const Family family = family_of(base, elf.get());
  if (family == Family::none) return companion;
  if (elf.get() == nullptr) {
    companion.kind = judge_unread(companion, family, elf.reason());
    return companion;
  }
  companion.soname = elf.get()->soname.value_or("");
  const Input in{path, base, *elf.get(), content.get()};
  switch (family) {
    case Family::driver: companion.kind = judge_driver(companion, in); break;
    case Family::nvrtc: companion.kind = judge_nvrtc(companion, in); break;
    case Family::nvml: companion.kind = judge_nvml(companion, in); break;
    case Family::none: break;
  }
  return companion;
}

}  // namespace cudart_doctor
