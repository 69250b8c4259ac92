// Reads the shared objects of this machine with our reader and with libelf and compares. libelf
// goes by section headers, ours by program headers: two ways to the same facts.
// Exit: 0 all equal, 1 differences, fewer than 100 objects compared, or no slot of a runtime name.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "oracle/libelf_facts.hpp"

namespace {

using namespace cudart_doctor;
namespace fs = std::filesystem;

constexpr std::size_t kMostObjects = 1500;
constexpr std::size_t kFewestCompared = 100;
constexpr std::uintmax_t kLargest = std::uintmax_t{200} * 1024 * 1024;

/// Regular files under `root` whose name says shared object, at most `limit` of them.
std::vector<fs::path> shared_objects(const fs::path& root, std::size_t limit) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error);
  for (; !error && at != fs::recursive_directory_iterator() && found.size() < limit;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_symlink(ignored) || !at->is_regular_file(ignored)) continue;
    const std::string name = at->path().filename().string();
    if (name.find(".so") == std::string::npos) continue;
    const std::uintmax_t size = at->file_size(ignored);
    if (!ignored && size <= kLargest) found.push_back(at->path());
  }
  return found;
}

class Comparison {
 public:
  explicit Comparison(std::string path) : path_(std::move(path)) {}

  template <typename T>
  void equal(const char* what, const T& ours, const T& theirs) {
    if (ours == theirs) return;
    same_ = false;
    std::printf("%s: %s: ours %s, libelf %s\n", escape_foreign(path_).c_str(), what,
                show(ours).c_str(), show(theirs).c_str());
  }
  [[nodiscard]] bool same() const { return same_; }

 private:
  static std::string show(const std::string& text) { return "'" + escape_foreign(text) + "'"; }
  static std::string show(bool value) { return value ? "yes" : "no"; }
  static std::string show(std::size_t number) { return std::to_string(number); }
  static std::string show(const std::vector<std::string>& list) {
    return std::to_string(list.size()) + " [" + escape_foreign(join(list, " ")) + "]";
  }

  std::string path_;
  bool same_ = true;
};

enum class Outcome : std::uint8_t { same, different, not_comparable };

std::vector<std::string> slots_of(ElfReader& reader) {
  const auto slots = reader.read_slots();
  if (!slots) return {slots.error().message};
  std::vector<std::string> out;
  for (const SlotPlace& slot : *slots) {
    out.push_back(std::to_string(slot.vaddr) + " " + slot.name);
  }
  return out;
}

struct Compared {
  Outcome outcome = Outcome::not_comparable;
  std::size_t slots = 0;
};

Compared compare(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return {};
  const auto theirs = oracle::read_with_libelf(fd.get());
  if (!theirs) return {};
  FileSource source(std::move(fd), static_cast<std::uint64_t>(status.st_size));
  auto reader = ElfReader::open(source, ElfImage::file);
  Comparison comparison(path.string());
  if (!reader) {
    comparison.equal("error", reader.error().message, std::string());
    return {Outcome::different};
  }
  ElfFacts ours = reader->read_facts();
  const bool by_hash = ours.exports_api;
  reader->walk_symbols(ours);
  std::vector<std::string> definitions = ours.version_definitions;
  if (ours.version_base) definitions.insert(definitions.begin(), *ours.version_base);
  std::vector<std::string> undefined;
  for (const SymbolRef& symbol : ours.undefined) undefined.push_back(symbol.name);
  std::sort(undefined.begin(), undefined.end());
  comparison.equal("soname", ours.soname.value_or(""), theirs->soname);
  comparison.equal("rpath", ours.rpath.value_or(""), theirs->rpath);
  comparison.equal("runpath", ours.runpath.value_or(""), theirs->runpath);
  comparison.equal("build-id", ours.build_id.value_or(""), theirs->build_id);
  comparison.equal("needed", ours.needed, theirs->needed);
  comparison.equal("version nodes", definitions, theirs->definitions);
  comparison.equal("defined symbols", std::size_t{ours.defined_symbols}, theirs->defined_symbols);
  comparison.equal("exports", ours.exports, theirs->exports);
  comparison.equal("undefined", undefined, theirs->undefined);
  // A look-up by hash must never claim what is not there.
  if (by_hash) comparison.equal("exports nothing", theirs->exports.empty(), false);
  comparison.equal("slots", slots_of(*reader), theirs->slots);
  comparison.equal("damage", ours.damage, {});
  return {comparison.same() ? Outcome::same : Outcome::different, theirs->slots.size()};
}

}  // namespace

int main() {
  std::set<std::pair<dev_t, ino_t>> seen;
  std::size_t compared = 0;
  std::size_t different = 0;
  std::size_t total = 0;
  std::size_t slots = 0;
  for (const char* root : {ORACLE_TOYS, "/usr/local", "/usr/lib/python3", "/usr/lib", "/lib"}) {
    for (const fs::path& path :
         shared_objects(root, kMostObjects - std::min(kMostObjects, total))) {
      struct stat status{};
      if (::stat(path.c_str(), &status) != 0) continue;
      if (!seen.emplace(status.st_dev, status.st_ino).second) continue;
      ++total;
      const Compared result = compare(path);
      slots += result.slots;
      if (result.outcome != Outcome::not_comparable) ++compared;
      if (result.outcome == Outcome::different) ++different;
    }
  }
  std::printf("%zu shared objects found, %zu compared with libelf, %zu differ; %zu slots\n", total,
              compared, different, slots);
  return different == 0 && compared >= kFewestCompared && slots > 0 ? 0 : 1;
}
