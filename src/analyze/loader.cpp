#include "cudart_doctor/analyze/loader.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/search_path.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kElfHeaderSize = 64;
constexpr std::uint16_t kAarch64 = 183;

/// What the loader does with the file at a search path.
enum class Found : std::uint8_t {
  usable,
  skipped,  ///< It goes on to the next directory.
  ends,     ///< It gives up: no later directory is tried.
  unknown,
};

struct Examined {
  Found found = Found::unknown;
  std::string reason;      ///< Printable.
  std::string error_text;  ///< What dlerror says after the name, where the search ends.
};

bool mentions(const std::string& text, std::string_view word) {
  return text.find(word) != std::string::npos;
}

/// A file whose ELF header could not be read as ours. glibc skips objects of another class, and
/// stops for good at one that is short or no ELF file.
Examined examine_unread(const DiskEntry& entry) {
  const std::string reason = entry.elf.reason();
  if (entry.size < kElfHeaderSize) {
    return {Found::ends, "shorter than an ELF header: the loader stops here", "file too short"};
  }
  if (mentions(reason, "32-bit")) return {Found::skipped, "32-bit object: skipped", {}};
  if (mentions(reason, "ELF") || mentions(reason, "program header")) {
    return {Found::ends, "no ELF file: the loader stops here", "invalid ELF header"};
  }
  return {Found::unknown, escape_foreign(reason), {}};
}

Examined examine(const Snapshot& snapshot, const std::string& path) {
  const auto at = snapshot.disk.find(path);
  if (at == snapshot.disk.end()) {
    if (snapshot.origin == SnapshotOrigin::fixture) return {Found::skipped, "not there", {}};
    return {Found::unknown, "nobody looked at this path", {}};
  }
  const DiskEntry& entry = at->second;
  switch (entry.kind) {
    case DiskKind::absent: return {Found::skipped, "not there", {}};
    case DiskKind::directory:
      return {Found::ends, "a directory: the loader stops here",
              "cannot read file data: Is a directory"};
    case DiskKind::other:
    case DiskKind::unreadable: return {Found::unknown, escape_foreign(entry.note), {}};
    case DiskKind::file: break;
  }
  const ElfFacts* elf = entry.elf.get();
  if (elf == nullptr && entry.elf.is_unknown()) return examine_unread(entry);
  const std::uint16_t machine = target_machine(snapshot);
  if (elf != nullptr && machine != 0 && elf->machine != 0 && elf->machine != machine) {
    return {Found::skipped, "made for another machine: skipped", {}};
  }
  if (elf != nullptr && elf->file_size != 0 && elf->file_size < elf->required_size) {
    return {
        Found::usable, "found, but the file is cut: using it can kill the process (SIGBUS)", {}};
  }
  return {Found::usable, "found", {}};
}

/// Cache entries carry the ABI in their flags (glibc's ldconfig.h).
bool cache_entry_fits(std::uint32_t flags, std::uint16_t machine) {
  constexpr std::uint32_t kX86Lib64 = 0x0303;
  constexpr std::uint32_t kAarch64Lib64 = 0x0a03;
  if (machine == kAarch64) return flags == kAarch64Lib64;
  return flags == kX86Lib64;
}

class Search {
 public:
  Search(const Snapshot& snapshot, const LoaderQuery& query) : snapshot_(snapshot), query_(query) {}

  LoaderAnswer run() {
    if (!try_loaded() && !try_given()) search_disk();
    answer_.steps = log_.take();
    return std::move(answer_);
  }

 private:
  void finish_loaded(std::size_t object, std::string note) {
    answer_.outcome = Outcome::selected;
    answer_.object = object;
    answer_.open = OpenOutcome::old_object;
    answer_.note = std::move(note);
  }

  void finish_undetermined(std::string note) {
    answer_.outcome = Outcome::undetermined;
    answer_.open = OpenOutcome::unknown;
    answer_.note = std::move(note);
  }

  /// Step 1: the link map in load order, l_name and DT_SONAME. No file is touched on a hit.
  bool try_loaded() {
    if (query_.start == LoaderStart::fresh) return false;
    return base_link_map(snapshot_) != nullptr ? try_link_map() : try_mapped();
  }

  bool try_link_map() {
    for (const LinkEntry& entry : base_link_map(snapshot_)->entries) {
      const auto object = object_of_entry(snapshot_, entry);
      if (!object) continue;
      const std::string* soname = soname_of(snapshot_, *object);
      const bool by_soname = soname != nullptr && *soname == query_.name;
      if (!by_soname && entry.name != query_.name) continue;
      const std::string note = by_soname ? "already loaded, and its soname is the wanted name"
                                         : "already loaded under the wanted name";
      log_.add(snapshot_.objects[*object].path(), StepVerdict::taken, note);
      finish_loaded(*object, note);
      return true;
    }
    return stop_at_unread();
  }

  bool try_mapped() {
    std::vector<std::size_t> matches;
    for (const std::size_t object : loaded_objects(snapshot_)) {
      const std::string* soname = soname_of(snapshot_, object);
      if (soname != nullptr && *soname == query_.name) matches.push_back(object);
    }
    if (matches.empty()) return stop_at_unread();
    if (matches.size() == 1) {
      const std::string note = "already mapped, and its soname is the wanted name";
      log_.add(snapshot_.objects[matches.front()].path(), StepVerdict::taken, note);
      finish_loaded(matches.front(), note);
      return true;
    }
    for (const std::size_t object : matches) {
      const std::string& path = snapshot_.objects[object].path();
      log_.add(path, StepVerdict::noted, "already mapped, and its soname is the wanted name");
      answer_.possible.push_back(path);
    }
    finish_undetermined("only load order decides, and the link map could not be read");
    return true;
  }

  /// A loaded object of the wanted file name whose soname could not be read may be the answer.
  bool stop_at_unread() {
    for (const std::size_t object : loaded_objects(snapshot_)) {
      const LoadedObject& candidate = snapshot_.objects[object];
      if (candidate.elf.is_known() || base_name(candidate.path()) != query_.name) continue;
      log_.add(candidate.path(), StepVerdict::noted,
               "carries the wanted file name; its soname could not be read");
      answer_.possible.push_back(candidate.path());
    }
    if (answer_.possible.empty()) {
      log_.add(query_.name, StepVerdict::noted, "no loaded object has this name or soname");
      return false;
    }
    answer_.possible.emplace_back("the result of the search on disk");
    finish_undetermined("a loaded object's soname could not be read");
    return true;
  }

  /// A test case may state the result of the search.
  bool try_given() {
    const auto given = snapshot_.loader.given_searches.find(std::string(query_.name));
    if (given != snapshot_.loader.given_searches.end()) {
      take_file(given->second, "the search ends here (given)");
      return true;
    }
    if (snapshot_.origin == SnapshotOrigin::fixture && !query_.name.starts_with("libcudart")) {
      log_.add(query_.name, StepVerdict::noted, "the case does not say what a search finds");
      finish_undetermined("the case does not say what a search finds");
      return true;
    }
    return false;
  }

  void search_disk() {
    for (const SearchEntry& entry : search_path(snapshot_, query_.caller, query_.caller_file)) {
      if (search_entry(entry)) return;
    }
    if (doubts_.empty() || snapshot_.origin == SnapshotOrigin::fixture) {
      log_.add(query_.name, StepVerdict::rejected, "found nowhere");
      answer_.outcome = Outcome::not_found;
      answer_.error_text = no_such_file(query_.name);
      answer_.note = "the loader finds nothing under this name";
      return;
    }
    answer_.possible.emplace_back("nothing is found");
    end_in_doubt();
  }

  void end_in_doubt() {
    for (const std::string& doubt : doubts_) answer_.possible.push_back(doubt);
    finish_undetermined("not all places that come earlier could be read");
  }

  /// True when the search ends at this entry.
  bool search_entry(const SearchEntry& entry) {
    switch (entry.kind) {
      case SearchKind::current_directory:
        log_.add(entry.directory, StepVerdict::noted,
                 entry.source + (entry.directory.empty()
                                     ? ": an empty element is the working directory, not known"
                                     : ": relative to the working directory, which is not known"));
        return false;
      case SearchKind::environment_unknown:
        log_.add(entry.source, StepVerdict::noted,
                 "the environment is not known: " + escape_foreign(snapshot_.environment.reason()));
        doubts_.emplace_back("a file in LD_LIBRARY_PATH, which could not be read");
        return false;
      case SearchKind::cache: return search_cache();
      case SearchKind::directory: break;
    }
    if (entry.has_hwcaps) {
      log_.add(entry.directory + "/glibc-hwcaps", StepVerdict::noted,
               "a subdirectory for this processor would be searched first; not followed");
    }
    const std::string slash = entry.directory == "/" ? "" : "/";
    return try_file(entry.directory + slash + std::string(query_.name), entry.source);
  }

  bool search_cache() {
    const auto* cache = snapshot_.loader.cache.get();
    if (cache == nullptr) {
      log_.add("ld.so.cache", StepVerdict::noted,
               "not known: " + escape_foreign(snapshot_.loader.cache.reason()));
      doubts_.emplace_back("an entry of ld.so.cache, which could not be read");
      return false;
    }
    const std::uint16_t machine = target_machine(snapshot_);
    for (const LoaderCacheEntry& entry : *cache) {
      if (entry.soname != query_.name) continue;
      if (!cache_entry_fits(entry.flags, machine)) {
        log_.add(entry.path, StepVerdict::rejected, "ld.so.cache: for another machine or class");
      } else if (entry.hwcap) {
        log_.add(entry.path, StepVerdict::noted,
                 "ld.so.cache: only for processors with certain abilities; not followed");
      } else {
        // Only the best entry is opened; when that fails the default directories follow.
        return try_file(entry.path, "ld.so.cache");
      }
    }
    return false;
  }

  bool try_file(const std::string& path, const std::string& source) {
    const Examined examined = examine(snapshot_, path);
    const std::string reason = source + ": " + examined.reason;
    switch (examined.found) {
      case Found::skipped: log_.add(path, StepVerdict::rejected, reason); return false;
      case Found::unknown:
        log_.add(path, StepVerdict::noted, reason);
        doubts_.push_back(path);
        return false;
      case Found::ends:
        log_.add(path, StepVerdict::rejected, reason);
        answer_.outcome = Outcome::not_found;
        answer_.disk_path = path;
        answer_.error_text = escape_foreign(path) + ": " + examined.error_text;
        answer_.note = "the first file of that name ends the search: " + examined.error_text;
        break;
      case Found::usable: take_file(path, reason); break;
    }
    if (!doubts_.empty() && snapshot_.origin != SnapshotOrigin::fixture) {
      answer_.possible.push_back(path);
      answer_.object.reset();
      answer_.disk_path.reset();
      answer_.error_text.clear();
      end_in_doubt();
    }
    return true;
  }

  /// The search ends at `path`: an object that is loaded already, by device and inode, or a load.
  void take_file(const std::string& path, const std::string& reason) {
    log_.add(path, StepVerdict::taken, reason);
    if (const auto object = loaded_behind(path)) {
      finish_loaded(*object, "the file found is a loaded object (same device and inode)");
      answer_.disk_path = path;
      return;
    }
    answer_.outcome = Outcome::selected;
    answer_.open = OpenOutcome::loads;
    answer_.disk_path = path;
    answer_.note = "not loaded yet: the loader would map it";
  }

  std::optional<std::size_t> loaded_behind(const std::string& path) {
    const FileNow now = file_now(snapshot_, path);
    if (now.state == FileNow::State::file) {
      if (const auto object = find_loaded_file(snapshot_, now.key)) return object;
    }
    const auto at = snapshot_.disk.find(path);
    if (at == snapshot_.disk.end() || at->second.real_path.empty()) return std::nullopt;
    const FileNow real = file_now(snapshot_, at->second.real_path);
    if (real.state != FileNow::State::file) return std::nullopt;
    return find_loaded_file(snapshot_, real.key);
  }

  const Snapshot& snapshot_;
  const LoaderQuery& query_;
  LoaderAnswer answer_;
  StepLog log_;
  std::vector<std::string> doubts_;  ///< Places before the hit that could not be read.
};

LoaderAnswer open_as_path(const Snapshot& snapshot, std::string_view path) {
  const OpenResult opened = open_path(snapshot, path);
  LoaderAnswer answer;
  answer.object = opened.object;
  answer.disk_path = opened.disk_path;
  answer.open = opened.open;
  answer.note = opened.note;
  answer.error_text = opened.error_text;
  const bool fails = opened.open == OpenOutcome::fails;
  answer.outcome =
      fails ? Outcome::not_found
            : (opened.open == OpenOutcome::unknown ? Outcome::undetermined : Outcome::selected);
  if (answer.outcome == Outcome::undetermined) answer.possible.emplace_back(path);
  answer.steps.push_back(
      {std::string(path), fails ? StepVerdict::rejected : StepVerdict::taken, opened.note});
  return answer;
}

}  // namespace

LoaderAnswer simulate_dlopen(const Snapshot& snapshot, const LoaderQuery& query) {
  if (query.name.find('/') != std::string_view::npos) return open_as_path(snapshot, query.name);
  return Search(snapshot, query).run();
}

bool is_surely_missing(const Snapshot& snapshot, const LoaderQuery& query) {
  const LoaderAnswer answer = simulate_dlopen(snapshot, query);
  if (answer.outcome != Outcome::not_found || answer.disk_path) return false;
  const auto path = search_path(snapshot, query.caller, query.caller_file);
  // The cache lists what is in the hwcaps directories of the default ones.
  const bool open = std::any_of(path.begin(), path.end(), [](const SearchEntry& entry) {
    return entry.kind == SearchKind::current_directory ||
           (entry.has_hwcaps && entry.source != kDefaultDirectory);
  });
  const auto* cache = snapshot.loader.cache.get();
  const bool by_processor =
      cache != nullptr && std::any_of(cache->begin(), cache->end(), [&](const auto& entry) {
        return entry.soname == query.name && entry.hwcap;
      });
  return !open && !by_processor;
}

std::vector<DiskRequest> wanted_by_dlopen(const Snapshot& snapshot, const LoaderQuery& query) {
  if (query.name.find('/') != std::string_view::npos) {
    return {{DiskRequest::Want::elf, std::string(query.name), {}}};
  }
  std::vector<DiskRequest> wanted;
  for (const SearchEntry& entry : search_path(snapshot, query.caller, query.caller_file)) {
    if (entry.kind != SearchKind::directory) continue;
    const std::string slash = entry.directory == "/" ? "" : "/";
    wanted.push_back(
        {DiskRequest::Want::elf, entry.directory + slash + std::string(query.name), {}});
    wanted.push_back({DiskRequest::Want::stat, entry.directory + "/glibc-hwcaps", {}});
  }
  if (const auto* cache = snapshot.loader.cache.get()) {
    for (const LoaderCacheEntry& entry : *cache) {
      if (entry.soname == query.name) wanted.push_back({DiskRequest::Want::elf, entry.path, {}});
    }
  }
  return wanted;
}

std::optional<std::size_t> ctypes_caller(const Snapshot& snapshot) {
  for (const std::size_t object : loaded_objects(snapshot)) {
    if (base_name(snapshot.objects[object].path()).starts_with("_ctypes.")) return object;
  }
  return std::nullopt;
}

}  // namespace cudart_doctor
