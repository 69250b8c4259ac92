// ElfReader: puts the parts together into ElfFacts.
#include "cudart_doctor/formats/elf.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/checked.hpp"
#include "elf_dynamic.hpp"
#include "elf_hash.hpp"
#include "elf_image.hpp"
#include "elf_notes.hpp"
#include "elf_relocations.hpp"
#include "elf_sections.hpp"
#include "elf_symbols.hpp"
#include "elf_versions.hpp"

namespace cudart_doctor {
namespace {

/// Names of which every runtime, driver, compiler or management library, stub or hook exports at
/// least one.
constexpr std::array kTellingNames = {
    elf::make_hashed("cudaMalloc"),
    elf::make_hashed("cudaFree"),
    elf::make_hashed("cudaGetErrorString"),
    elf::make_hashed("cudaSetDevice"),
    elf::make_hashed("cudaMemcpy"),
    elf::make_hashed("cudaLaunchKernel"),
    elf::make_hashed("cudaRuntimeGetVersion"),
    elf::make_hashed("cudaDeviceSynchronize"),
    elf::make_hashed("cuInit"),
    elf::make_hashed("cuMemAlloc_v2"),
    elf::make_hashed("cuGetErrorString"),
    elf::make_hashed("cuLaunchKernel"),
    elf::make_hashed("cuGetProcAddress_v2"),
    elf::make_hashed("nvrtcVersion"),
    elf::make_hashed("nvmlInit_v2"),
    elf::make_hashed("hipMalloc"),
};

/// A string that a DT_ entry names; the reason in `damage` where it cannot be read.
std::optional<std::string> named_text(elf::ImageBytes& image, const elf::Dynamic& dynamic,
                                      std::optional<std::uint64_t> offset,
                                      std::vector<std::string>& damage) {
  if (!offset) return std::nullopt;
  auto text = elf::read_dynamic_text(image, dynamic, *offset);
  if (!text) damage.emplace_back("a name of the dynamic section lies outside the string table");
  return text;
}

void add_segment_facts(elf::ImageBytes& image, ElfFacts& facts) {
  for (const ProgramHeader& segment : image.segments()) {
    if (segment.type == elf::kPtLoad) {
      ++facts.load_segments;
      if (segment.filesz > 0) {
        facts.required_size =
            std::max(facts.required_size, saturating_add(segment.offset, segment.filesz));
      }
    } else if (segment.type == elf::kPtInterp && !facts.interpreter) {
      if (const auto extent = image.locate(segment)) {
        facts.interpreter = image.read_text(extent->offset, extent->available);
      }
      if (!facts.interpreter) facts.damage.emplace_back("name of the interpreter is cut");
    }
  }
  if (!facts.from_memory && facts.file_size < facts.required_size) {
    facts.damage.push_back("file has " + std::to_string(facts.file_size) +
                           " bytes, its segments need " + std::to_string(facts.required_size));
  }
}

void add_dynamic_facts(elf::ImageBytes& image, const elf::Dynamic& dynamic, ElfFacts& facts) {
  facts.has_dynamic = dynamic.present;
  facts.is_symbolic = dynamic.symbolic;
  facts.has_symbol_versions = dynamic.versions.has_value();
  facts.soname = named_text(image, dynamic, dynamic.soname, facts.damage);
  facts.rpath = named_text(image, dynamic, dynamic.rpath, facts.damage);
  facts.runpath = named_text(image, dynamic, dynamic.runpath, facts.damage);
  for (const std::uint64_t offset : dynamic.needed) {
    auto name = named_text(image, dynamic, offset, facts.damage);
    if (name) facts.needed.push_back(std::move(*name));
  }
}

/// Whether the sections account for what the segments load: the loader does not look at them, and
/// who wants to hide code can let them say anything. Alignment is all that may be missing.
bool covers_segments(const elf::ImageBytes& image, std::uint64_t section_bytes) {
  std::uint64_t loaded = 0;
  for (const ProgramHeader& segment : image.segments()) {
    if (segment.type == elf::kPtLoad) loaded = saturating_add(loaded, segment.filesz);
  }
  return section_bytes >= loaded - loaded / 8;
}

/// Notes and what section headers add to them. Returns where code and constants lie.
ContentParts add_note_facts(elf::ImageBytes& image, ElfFacts& facts) {
  elf::Notes notes = elf::read_notes(image, facts.damage);
  elf::SectionFacts sections = elf::read_sections(image, facts.damage);
  facts.device_code_sections = sections.device_code;
  facts.compat_note = notes.compat_text ? notes.compat_text : sections.compat_text;
  facts.build_id = notes.build_id ? notes.build_id : sections.build_id;
  if (notes.cut && !facts.build_id) facts.damage.emplace_back("a note is cut");
  return covers_segments(image, sections.loaded_bytes) ? std::move(sections.parts) : ContentParts();
}

/// Keeps the first of equal sentences: a lie repeated 4,096 times is one lie.
void drop_repeated(std::vector<std::string>& sentences) {
  std::vector<std::string> kept;
  for (std::string& sentence : sentences) {
    if (std::find(kept.begin(), kept.end(), sentence) == kept.end()) {
      kept.push_back(std::move(sentence));
    }
  }
  sentences = std::move(kept);
}

}  // namespace

struct ElfReader::State {
  elf::ImageBytes image;
  elf::Dynamic dynamic;
  std::vector<std::string> dynamic_damage;
  std::optional<elf::VersionTables> versions;
  ContentParts parts;
  std::vector<elf::UndefinedName> undefined;

  const elf::VersionTables& version_tables(std::vector<std::string>& damage) {
    if (!versions) versions = elf::read_versions(image, dynamic, damage);
    return *versions;
  }
};

ElfReader::ElfReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ElfReader::ElfReader(ElfReader&&) noexcept = default;
ElfReader& ElfReader::operator=(ElfReader&&) noexcept = default;
ElfReader::~ElfReader() = default;

Result<ElfReader> ElfReader::open(ByteSource& source, ElfImage image, std::uint64_t base) {
  auto bytes = elf::ImageBytes::open(source, image, base);
  if (!bytes) return tl::unexpected(bytes.error());
  auto state = std::make_unique<State>(State{std::move(*bytes), {}, {}, {}, {}, {}});
  state->dynamic = elf::read_dynamic(state->image, state->dynamic_damage);
  return ElfReader(std::move(state));
}

ElfFacts ElfReader::read_facts() {
  elf::ImageBytes& image = state_->image;
  ElfFacts facts;
  facts.type = image.header().type;
  facts.machine = image.header().machine;
  facts.from_memory = image.is_memory();
  if (!facts.from_memory) facts.file_size = image.source_size().value_or(0);
  facts.damage = state_->dynamic_damage;
  add_segment_facts(image, facts);
  add_dynamic_facts(image, state_->dynamic, facts);
  const elf::VersionTables& versions = state_->version_tables(facts.damage);
  facts.version_base = versions.base;
  facts.version_definitions = versions.definitions;
  facts.version_needs = versions.needs;
  state_->parts = add_note_facts(image, facts);
  facts.exports_api = elf::defines_any(image, state_->dynamic, kTellingNames);
  if (image.read_error()) facts.damage.push_back("read failed: " + image.read_error()->message);
  drop_repeated(facts.damage);
  return facts;
}

void ElfReader::walk_symbols(ElfFacts& facts) {
  const elf::VersionTables& versions = state_->version_tables(facts.damage);
  state_->undefined = elf::walk_symbols(state_->image, state_->dynamic, versions, facts);
  drop_repeated(facts.damage);
}

Result<std::vector<SlotPlace>> ElfReader::read_slots() {
  return elf::read_slots(state_->image, state_->dynamic, state_->undefined);
}

std::optional<std::string> ElfReader::function_at(std::uint64_t vaddr) {
  return elf::function_at(state_->image, state_->dynamic, vaddr);
}

const std::vector<ProgramHeader>& ElfReader::program_headers() const {
  return state_->image.segments();
}

const ContentParts& ElfReader::content_parts() const { return state_->parts; }

}  // namespace cudart_doctor
