// ELF reader for hostile input: 64-bit little-endian, by program headers and PT_DYNAMIC, over a
// ByteSource. The same code reads a file and an image in another process.
// Caps before allocation: 256 program headers, 4,096 dynamic entries, 2^20 symbols, 4 KiB a
// string, 64 KiB of notes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

struct ProgramHeader {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t filesz = 0;
  std::uint64_t memsz = 0;
  std::uint64_t align = 0;
};

/// [begin, end) in a file.
struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// Where a file has what a search for a runtime looks at. Device code, most of a large CUDA
/// library, is in neither.
struct ContentParts {
  std::vector<FileRange> code;
  std::vector<FileRange> constants;
};

/// Where an object keeps the address of a runtime name that it does not define.
struct SlotPlace {
  std::uint64_t vaddr = 0;  ///< In the object; the load bias is to be added.
  std::string name;
  std::string version;  ///< Version node that the reference is tagged with; "" for none.
};

enum class ElfImage : std::uint8_t {
  file,    ///< Offsets are file offsets.
  memory,  ///< The source's offset 0 is where the ELF header is mapped; addresses are vaddrs
           ///< relative to the first PT_LOAD, DT_ pointers may be absolute (load bias added).
};

/// Opens an object once and answers questions about it, from its headers and a few blocks that it
/// keeps. The source must outlive the reader.
class ElfReader {
 public:
  ElfReader(ElfReader&&) noexcept;
  ElfReader& operator=(ElfReader&&) noexcept;
  ~ElfReader();

  /// Reads the ELF header, program headers and dynamic section. `base` is the address at which a
  /// memory image lies (0 for files). Errors: malformed (not ELF, cut, lies), unsupported (32-bit,
  /// big-endian), limit, io.
  static Result<ElfReader> open(ByteSource& source, ElfImage image, std::uint64_t base = 0);

  /// The facts that the cheap look gives: everything but symbols. `exports_api` is answered by a
  /// few gnu-hash (or sysv-hash) look-ups.
  ElfFacts read_facts();

  /// Adds the full symbol walk to `facts`: counts, names of the CUDA families, cuInit's code.
  /// What could not be read lands in `facts.damage`.
  void walk_symbols(ElfFacts& facts);

  /// Slots of runtime names that are undefined here, by the relocations (DT_JMPREL, DT_RELA), each
  /// address once, ascending. Known after walk_symbols(): before it, and for an object without such
  /// names, there are none and nothing is read. Errors: malformed (a table lies past the end),
  /// limit (more than 4,194,304 relocations or 4,096 slots), unsupported (another machine).
  Result<std::vector<SlotPlace>> read_slots();

  /// The exported function whose code holds `vaddr`; nothing for code of functions that are not
  /// exported.
  std::optional<std::string> function_at(std::uint64_t vaddr);

  [[nodiscard]] const std::vector<ProgramHeader>& program_headers() const;

  /// By the section headers that read_facts() looked at; empty where they could not be read or do
  /// not cover the segments.
  [[nodiscard]] const ContentParts& content_parts() const;

 private:
  struct State;
  explicit ElfReader(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

/// Whether `name` belongs to one of the CUDA API families (cuda, cu, nvrtc, nvml, hip).
bool is_cuda_api_name(std::string_view name);

/// Whether `name` belongs to the runtime: cuda[A-Z]* and __cuda*.
bool is_cuda_runtime_name(std::string_view name);

}  // namespace cudart_doctor
