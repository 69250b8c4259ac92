#include "support/elf_builder.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace cudart_doctor::test {
namespace {

constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kDataShift = 0x1000;  ///< vaddr - offset of the writable segment.

template <typename T>
void append(std::string& out, T value) {
  std::string raw(sizeof value, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  out += raw;
}

template <typename T>
void put(std::vector<std::byte>& bytes, std::uint64_t offset, T value) {
  if (offset > bytes.size() || sizeof value > bytes.size() - offset) {
    throw std::out_of_range("elf_builder: offset outside the object");
  }
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <typename T>
T get(const std::vector<std::byte>& bytes, std::uint64_t offset) {
  T value{};
  if (offset > bytes.size() || sizeof value > bytes.size() - offset) {
    throw std::out_of_range("elf_builder: offset outside the object");
  }
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

void pad(std::string& out, std::size_t alignment) {
  while (out.size() % alignment != 0) out += '\0';
}

/// A string table; the empty string is at 0.
class Strings {
 public:
  std::uint32_t add(const std::string& text) {
    const auto offset = static_cast<std::uint32_t>(text_.size());
    text_ += text;
    text_ += '\0';
    return offset;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_ = std::string(1, '\0');
};

std::uint32_t gnu_hash_of(const std::string& name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = (hash << 5U) + hash + static_cast<unsigned char>(c);
  return hash;
}

/// The System V gABI's function, as printed there.
std::uint32_t sysv_hash_of(const std::string& name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4U) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000U;
    if (high != 0) hash ^= high >> 24U;
    hash &= ~high;
  }
  return hash;
}

struct Segment {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t vaddr = 0;
  std::uint64_t size = 0;
  std::uint64_t align = 1;
};

class Builder {
 public:
  explicit Builder(const ElfSpec& spec) : spec_(spec) {}
  BuiltElf build();

 private:
  void begin_part(const std::string& name, std::size_t alignment) {
    pad(out_, alignment);
    at_[name] = out_.size();
  }
  [[nodiscard]] std::uint32_t buckets() const {
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, symbols_.size() / 3));
  }
  void order_symbols();
  void number_versions();
  void write_notes();
  void write_gnu_hash();
  void write_sysv_hash();
  void write_symbols();
  void write_versions();
  void write_relocations();
  std::string table_of(const std::vector<ElfRelocation>& relocations) const;
  void write_dynamic();
  void write_sections();
  void write_headers();

  const ElfSpec& spec_;
  std::string out_;
  std::map<std::string, std::uint64_t> at_;
  Strings strings_;
  std::vector<ElfSymbol> symbols_;
  std::uint32_t first_hashed_ = 1;
  std::map<std::string, std::uint16_t> version_index_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> dynamic_;
  std::vector<Segment> segments_;
  std::uint64_t section_count_ = 0;
};

bool is_hashed(const ElfSymbol& symbol) { return symbol.defined && symbol.binding != 0; }

/// Undefined symbols first, then the others by bucket, as DT_GNU_HASH demands.
void Builder::order_symbols() {
  symbols_.clear();
  for (const ElfSymbol& symbol : spec_.symbols) {
    if (!is_hashed(symbol)) symbols_.push_back(symbol);
  }
  const auto count = static_cast<std::uint32_t>(std::max<std::size_t>(1, spec_.symbols.size() / 3));
  for (std::uint32_t bucket = 0; bucket < count; ++bucket) {
    for (const ElfSymbol& symbol : spec_.symbols) {
      if (is_hashed(symbol) && gnu_hash_of(symbol.name) % count == bucket)
        symbols_.push_back(symbol);
    }
  }
  const auto first = std::find_if(symbols_.begin(), symbols_.end(), is_hashed);
  first_hashed_ = static_cast<std::uint32_t>(1 + (first - symbols_.begin()));
}

void Builder::number_versions() {
  std::uint16_t next = 2;
  if (spec_.version_base) version_index_[*spec_.version_base] = 1;
  for (const auto& node : spec_.version_definitions) version_index_[node] = next++;
  for (const auto& need : spec_.version_needs) {
    for (const auto& node : need.versions) version_index_[node] = next++;
  }
}

void Builder::write_notes() {
  if (spec_.notes.empty()) return;
  begin_part("notes", 8);
  for (const ElfNote& note : spec_.notes) {
    append(out_, static_cast<std::uint32_t>(note.owner.size() + 1));
    append(out_, static_cast<std::uint32_t>(note.text.size()));
    append(out_, note.type);
    out_ += note.owner;
    out_ += '\0';
    pad(out_, spec_.note_alignment);
    out_ += note.text;
    pad(out_, spec_.note_alignment);
  }
  const std::uint64_t at = at_["notes"];
  segments_.push_back({4, 4, at, at, out_.size() - at, spec_.note_alignment});
}

void Builder::write_gnu_hash() {
  constexpr std::uint32_t kShift = 6;
  begin_part("gnu_hash", 8);
  dynamic_.emplace_back(0x6ffffef5, out_.size());
  const std::uint32_t count = buckets();
  append(out_, count);
  append(out_, first_hashed_);
  append(out_, std::uint32_t{2});
  append(out_, kShift);
  std::uint64_t bloom[2] = {0, 0};
  std::vector<std::uint32_t> bucket(count, 0);
  std::string chain;
  for (std::size_t i = first_hashed_ - 1; i < symbols_.size(); ++i) {
    const std::uint32_t hash = gnu_hash_of(symbols_[i].name);
    bloom[(hash / 64) % 2] |=
        (std::uint64_t{1} << (hash % 64)) | (std::uint64_t{1} << ((hash >> kShift) % 64));
    const auto index = static_cast<std::uint32_t>(i + 1);
    if (bucket[hash % count] == 0) bucket[hash % count] = index;
    const bool last =
        i + 1 == symbols_.size() || gnu_hash_of(symbols_[i + 1].name) % count != hash % count;
    append(chain, (hash & ~1U) | (last ? 1U : 0U));
  }
  append(out_, bloom[0]);
  append(out_, bloom[1]);
  for (const std::uint32_t first : bucket) append(out_, first);
  out_ += chain;
}

void Builder::write_sysv_hash() {
  begin_part("sysv_hash", 8);
  dynamic_.emplace_back(4, out_.size());
  const std::uint32_t count = buckets();
  std::vector<std::uint32_t> bucket(count, 0);
  std::vector<std::uint32_t> chain(symbols_.size() + 1, 0);
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    const std::uint32_t slot = sysv_hash_of(symbols_[i].name) % count;
    chain[i + 1] = bucket[slot];
    bucket[slot] = static_cast<std::uint32_t>(i + 1);
  }
  append(out_, count);
  append(out_, static_cast<std::uint32_t>(chain.size()));
  for (const std::uint32_t word : bucket) append(out_, word);
  for (const std::uint32_t word : chain) append(out_, word);
}

void Builder::write_symbols() {
  begin_part("dynsym", 8);
  dynamic_.emplace_back(6, out_.size());
  dynamic_.emplace_back(11, 24);
  out_.append(24, '\0');
  for (const ElfSymbol& symbol : symbols_) {
    append(out_, strings_.add(symbol.name));
    append(out_, static_cast<std::uint8_t>((symbol.binding << 4U) | symbol.type));
    append(out_, std::uint8_t{0});
    const std::uint16_t section = symbol.absolute ? 0xfff1 : 1;
    append(out_, symbol.defined ? section : std::uint16_t{0});
    // The value is patched when the place of the code is known.
    append(out_, symbol.code_offset);
    append(out_, std::uint64_t{0});
  }
}

void Builder::write_versions() {
  if (version_index_.empty()) return;
  begin_part("versym", 2);
  dynamic_.emplace_back(0x6ffffff0, out_.size());
  append(out_, std::uint16_t{0});
  for (const ElfSymbol& symbol : symbols_) {
    const auto found = version_index_.find(symbol.version);
    append(out_, found == version_index_.end() ? std::uint16_t{1} : found->second);
  }
  std::vector<std::string> nodes;
  if (spec_.version_base) nodes.push_back(*spec_.version_base);
  nodes.insert(nodes.end(), spec_.version_definitions.begin(), spec_.version_definitions.end());
  if (!nodes.empty()) {
    begin_part("verdef", 8);
    dynamic_.emplace_back(0x6ffffffc, out_.size());
    dynamic_.emplace_back(0x6ffffffd, nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool base = i == 0 && spec_.version_base.has_value();
      append(out_, std::uint16_t{1});
      append(out_, static_cast<std::uint16_t>(base ? 1 : 0));
      append(out_, version_index_[nodes[i]]);
      append(out_, std::uint16_t{1});
      append(out_, sysv_hash_of(nodes[i]));
      append(out_, std::uint32_t{20});
      append(out_, std::uint32_t{i + 1 < nodes.size() ? 28U : 0U});
      append(out_, strings_.add(nodes[i]));
      append(out_, std::uint32_t{0});
    }
  }
  if (spec_.version_needs.empty()) return;
  begin_part("verneed", 8);
  dynamic_.emplace_back(0x6ffffffe, out_.size());
  dynamic_.emplace_back(0x6fffffff, spec_.version_needs.size());
  for (std::size_t i = 0; i < spec_.version_needs.size(); ++i) {
    const ElfNeed& need = spec_.version_needs[i];
    const auto count = static_cast<std::uint32_t>(need.versions.size());
    append(out_, std::uint16_t{1});
    append(out_, static_cast<std::uint16_t>(count));
    append(out_, strings_.add(need.file));
    append(out_, std::uint32_t{16});
    append(out_, i + 1 < spec_.version_needs.size() ? 16 + 16 * count : std::uint32_t{0});
    for (std::uint32_t k = 0; k < count; ++k) {
      append(out_, sysv_hash_of(need.versions[k]));
      append(out_, std::uint16_t{0});
      append(out_, version_index_[need.versions[k]]);
      append(out_, strings_.add(need.versions[k]));
      append(out_, std::uint32_t{k + 1 < count ? 16U : 0U});
    }
  }
}

std::string Builder::table_of(const std::vector<ElfRelocation>& relocations) const {
  std::string table;
  for (const ElfRelocation& relocation : relocations) {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      if (symbols_[i].name == relocation.symbol) index = i + 1;
    }
    append(table, relocation.place);
    append(table, (index << 32U) | relocation.type);
    append(table, relocation.addend);
  }
  return table;
}

void Builder::write_relocations() {
  constexpr std::uint64_t kRela = 7;
  if (!spec_.relocations.empty()) {
    begin_part("rela", 8);
    const std::string table = table_of(spec_.relocations);
    dynamic_.emplace_back(kRela, out_.size());
    dynamic_.emplace_back(8, table.size());
    if (spec_.relative_count > 0) dynamic_.emplace_back(0x6ffffff9, spec_.relative_count);
    out_ += table;
  }
  if (spec_.jump_relocations.empty()) return;
  begin_part("jmprel", 8);
  const std::string table = table_of(spec_.jump_relocations);
  dynamic_.emplace_back(23, out_.size());
  dynamic_.emplace_back(2, table.size());
  dynamic_.emplace_back(20, kRela);
  out_ += table;
}

void Builder::write_dynamic() {
  std::string table;
  for (const auto& [tag, value] : dynamic_) {
    append(table, tag);
    append(table, value);
  }
  table.append(16, '\0');
  begin_part("dynamic", kPage);
  const std::uint64_t at = out_.size();
  out_ += table;
  segments_.push_back({1, 6, at, at + kDataShift, table.size(), kPage});
  segments_.push_back({2, 6, at, at + kDataShift, table.size(), 8});
}

void Builder::write_sections() {
  if (!spec_.section_headers) return;
  Strings names;
  std::string headers(64, '\0');
  const auto add_header = [&](const ElfSection& section, std::uint64_t offset, std::uint64_t size) {
    append(headers, names.add(section.name));
    append(headers, section.type);
    append(headers, std::uint64_t{0});
    append(headers, std::uint64_t{0});
    append(headers, offset);
    append(headers, size);
    append(headers, std::uint64_t{0});
    append(headers, section.alignment);
    append(headers, std::uint64_t{0});
    ++section_count_;
  };
  for (const ElfSection& section : spec_.sections) {
    pad(out_, 16);
    add_header(section, out_.size(), section.content.size());
    out_ += section.content;
  }
  // The table of names names itself, so its size counts its own name.
  const ElfSection table{".shstrtab", 3, {}, 1};
  begin_part("shstrtab", 1);
  add_header(table, out_.size(), names.text().size() + table.name.size() + 1);
  out_ += names.text();
  begin_part("shdr", 8);
  out_ += headers;
  ++section_count_;
}

void Builder::write_headers() {
  std::string header =
      "\x7f"
      "ELF";
  header += std::string("\x02\x01\x01", 3) + std::string(9, '\0');
  append(header, spec_.type);
  append(header, spec_.machine);
  append(header, std::uint32_t{1});
  append(header, std::uint64_t{0});
  append(header, std::uint64_t{64});
  append(header, spec_.section_headers ? at_["shdr"] : std::uint64_t{0});
  append(header, std::uint32_t{0});
  append(header, std::uint16_t{64});
  append(header, std::uint16_t{56});
  append(header, static_cast<std::uint16_t>(segments_.size()));
  append(header, std::uint16_t{64});
  append(header, static_cast<std::uint16_t>(section_count_));
  append(header, static_cast<std::uint16_t>(section_count_ > 0 ? section_count_ - 1 : 0));
  for (const Segment& segment : segments_) {
    append(header, segment.type);
    append(header, segment.flags);
    append(header, segment.offset);
    append(header, segment.vaddr);
    append(header, segment.vaddr);
    append(header, segment.size);
    append(header, segment.size);
    append(header, segment.align);
  }
  std::copy(header.begin(), header.end(), out_.begin());
}

BuiltElf Builder::build() {
  constexpr std::size_t kRoomForHeaders = 64 + 8 * 56;
  constexpr std::size_t kSymbolSize = 24;
  order_symbols();
  number_versions();
  at_["phdr"] = 64;
  out_.assign(kRoomForHeaders, '\0');
  if (spec_.interpreter) {
    begin_part("interpreter", 1);
    out_ += *spec_.interpreter + '\0';
    segments_.push_back(
        {3, 4, at_["interpreter"], at_["interpreter"], spec_.interpreter->size() + 1, 1});
  }
  write_notes();
  for (const auto& name : spec_.needed) dynamic_.emplace_back(1, strings_.add(name));
  if (spec_.soname) dynamic_.emplace_back(14, strings_.add(*spec_.soname));
  if (spec_.rpath) dynamic_.emplace_back(15, strings_.add(*spec_.rpath));
  if (spec_.runpath) dynamic_.emplace_back(29, strings_.add(*spec_.runpath));
  if (spec_.symbolic) dynamic_.emplace_back(16, 0);
  if (spec_.hash == ElfHash::gnu || spec_.hash == ElfHash::both) write_gnu_hash();
  if (spec_.hash == ElfHash::sysv || spec_.hash == ElfHash::both) write_sysv_hash();
  write_symbols();
  write_versions();
  write_relocations();
  begin_part("dynstr", 1);
  dynamic_.emplace_back(5, out_.size());
  dynamic_.emplace_back(10, strings_.text().size());
  out_ += strings_.text();
  begin_part("data", 16);
  out_ += spec_.data;
  segments_.insert(segments_.begin(), {1, 4, 0, 0, out_.size(), kPage});
  begin_part("code", kPage);
  const std::uint64_t code = out_.size();
  out_ += spec_.code;
  if (!spec_.code.empty()) segments_.push_back({1, 5, code, code, spec_.code.size(), kPage});
  write_dynamic();
  write_sections();
  write_headers();
  BuiltElf built;
  built.bytes.resize(out_.size());
  std::memcpy(built.bytes.data(), out_.data(), out_.size());
  built.at = at_;
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    if (!symbols_[i].defined || symbols_[i].absolute) continue;
    built.set_u64(at_["dynsym"] + (i + 1) * kSymbolSize + 8, code + symbols_[i].code_offset);
  }
  return built;
}

}  // namespace

void BuiltElf::set_u8(std::uint64_t offset, std::uint8_t value) { put(bytes, offset, value); }
void BuiltElf::set_u16(std::uint64_t offset, std::uint16_t value) { put(bytes, offset, value); }
void BuiltElf::set_u32(std::uint64_t offset, std::uint32_t value) { put(bytes, offset, value); }
void BuiltElf::set_u64(std::uint64_t offset, std::uint64_t value) { put(bytes, offset, value); }
std::uint32_t BuiltElf::u32(std::uint64_t offset) const {
  return get<std::uint32_t>(bytes, offset);
}
std::uint64_t BuiltElf::u64(std::uint64_t offset) const {
  return get<std::uint64_t>(bytes, offset);
}

std::uint64_t BuiltElf::dynamic_value(std::uint64_t tag) const {
  for (std::uint64_t offset = at.at("dynamic"); u64(offset) != 0; offset += 16) {
    if (u64(offset) == tag) return offset + 8;
  }
  throw std::out_of_range("elf_builder: no such dynamic entry");
}

std::uint64_t BuiltElf::segment(std::uint32_t type) const {
  const auto count = get<std::uint16_t>(bytes, 56);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t offset = at.at("phdr") + i * 56;
    if (u32(offset) == type) return offset;
  }
  throw std::out_of_range("elf_builder: no such program header");
}

BuiltElf build_elf(const ElfSpec& spec) { return Builder(spec).build(); }

std::vector<std::byte> load_elf(const BuiltElf& elf, std::uint64_t base, DynamicPointers pointers) {
  std::vector<std::byte> image;
  const auto count = get<std::uint16_t>(elf.bytes, 56);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t header = elf.at.at("phdr") + i * 56;
    if (elf.u32(header) != 1) continue;
    const std::uint64_t offset = elf.u64(header + 8);
    const std::uint64_t vaddr = elf.u64(header + 16);
    const std::uint64_t size = elf.u64(header + 32);
    image.resize(std::max<std::size_t>(image.size(), vaddr + size));
    std::memcpy(image.data() + vaddr, elf.bytes.data() + offset, size);
  }
  if (pointers == DynamicPointers::relative) return image;
  const std::uint64_t dynamic = elf.u64(elf.segment(2) + 16);
  for (std::uint64_t at = dynamic; get<std::uint64_t>(image, at) != 0; at += 16) {
    const auto tag = get<std::uint64_t>(image, at);
    const bool pointer =
        (tag >= 4 && tag <= 7) || tag == 23 || tag == 0x6ffffef5 || tag == 0x6ffffff0;
    if (pointer) put(image, at + 8, get<std::uint64_t>(image, at + 8) + base);
  }
  return image;
}

}  // namespace cudart_doctor::test
