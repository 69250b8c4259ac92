// What one ELF object says about itself: the values that formats/ reads and analyze/ judges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor {

/// One DT_VERNEED entry: the file that is to provide the version nodes.
struct VersionNeed {
  std::string file;
  std::vector<std::string> versions;
};

/// An undefined dynamic symbol with the version node that it is tagged with (empty: none).
struct SymbolRef {
  std::string name;
  std::string version;
};

/// How many defined dynamic functions an object exports, by API family.
struct SymbolCensus {
  std::uint32_t runtime = 0;  ///< cuda[A-Z]* and __cuda*
  std::uint32_t driver = 0;   ///< cu[A-Z]*
  std::uint32_t nvrtc = 0;    ///< nvrtc[A-Z]*
  std::uint32_t nvml = 0;     ///< nvml[A-Z]*
  std::uint32_t hip = 0;      ///< hip[A-Z]*
};

/// Facts of a 64-bit little-endian ELF object, from its program headers and PT_DYNAMIC: what the
/// loader itself sees. Section headers are used only for `device_code_sections`.
struct ElfFacts {
  std::uint16_t machine = 0;        ///< e_machine: 62 x86-64, 183 AArch64
  std::uint16_t type = 0;           ///< e_type: 2 executable, 3 shared object
  bool from_memory = false;         ///< Read from the loaded image, not from the file.
  std::uint64_t file_size = 0;      ///< Bytes; 0 when read from memory.
  std::uint64_t required_size = 0;  ///< Largest p_offset + p_filesz.
  std::uint32_t load_segments = 0;
  bool has_dynamic = false;  ///< false: a static executable or a relocatable file.
  std::optional<std::string> soname;
  std::optional<std::string> rpath;
  std::optional<std::string> runpath;
  std::optional<std::string> interpreter;
  std::vector<std::string> needed;               ///< DT_NEEDED, in order.
  std::optional<std::string> version_base;       ///< The VER_FLG_BASE definition.
  std::vector<std::string> version_definitions;  ///< The other version nodes, in order.
  std::vector<VersionNeed> version_needs;
  bool has_symbol_versions = false;        ///< DT_VERSYM is there.
  bool is_symbolic = false;                ///< DT_SYMBOLIC or DF_SYMBOLIC.
  std::optional<std::string> build_id;     ///< Lower-case hex of NT_GNU_BUILD_ID.
  std::optional<std::string> compat_note;  ///< Text of .note.cuda.fwd_compatibility.
  /// Whether fat-binary sections (.nv_fatbin, .nvFatBinSegment, __nv_relfatbin, .nv_fatbin_*) are
  /// there; nothing where the section headers could not be read.
  std::optional<bool> device_code_sections;

  /// Symbols. `exports_api` is the cheap look-up by hash; the lists below are filled only by the
  /// full walk, which `symbols_walked` tells.
  bool exports_api = false;  ///< At least one name of a CUDA API family is defined here.
  bool symbols_walked = false;
  std::uint32_t defined_symbols = 0;  ///< Defined dynamic symbols, of any name (full walk).
  SymbolCensus census;                ///< Full walk.
  std::vector<std::string> exports;   ///< Defined names of the CUDA families, sorted, unique.
  std::vector<SymbolRef> undefined;   ///< Undefined names of the CUDA families; no weak ones.
  /// The version nodes that its exported runtime names carry, sorted, each once; "" stands for
  /// names without one, which a reference of any version accepts. One, in every library seen.
  std::vector<std::string> runtime_nodes;
  /// True when cuInit is defined and its code returns a constant; nothing when it was not seen.
  std::optional<bool> cu_init_is_constant;
  /// What could be read only in part, one sentence each ("symbol table lies past the end").
  std::vector<std::string> damage;
};

/// How often one version constant (mov dword ptr [rdi], imm32 or its AArch64 form) was found.
struct VersionConstant {
  std::uint32_t value = 0;  ///< major * 1000 + minor * 10
  std::uint32_t count = 0;
};

/// Result of the search through an object's bytes.
struct ContentScan {
  std::vector<std::string> yardstick;      ///< Those of the four yardstick strings that occur.
  std::vector<VersionConstant> constants;  ///< Plausible constants in code.
  std::vector<std::string> markers;        ///< Texts that give a known look-alike away.
  std::optional<std::string>
      text_version;         ///< Version that the library carries as text (NVRTC, driver).
  std::uint64_t bytes = 0;  ///< Searched.
};

/// What capture should do with an object after its cheap ELF facts are there; decided by
/// analyze/scan_plan.
struct ScanPlan {
  bool walk_symbols = false;     ///< List its CUDA names (exports, undefined).
  bool search_contents = false;  ///< Search its bytes for version constants and telling strings.
  bool static_suspect = false;   ///< The search is for a static runtime (counted as such).
};

}  // namespace cudart_doctor
