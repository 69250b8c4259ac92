#include "cudart_doctor/analyze/search_path.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint16_t kAarch64 = 183;

/// Multiarch name of the target, as Debian's glibc has it in $LIB and the default directories.
std::string_view multiarch(std::uint16_t machine) {
  return machine == kAarch64 ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

/// Replaces $NAME and ${NAME}. True when something was replaced.
bool replace_token(std::string& text, std::string_view name, std::string_view value) {
  bool replaced = false;
  for (const std::string& token : {"${" + std::string(name) + "}", "$" + std::string(name)}) {
    for (std::size_t at = text.find(token); at != std::string::npos;
         at = text.find(token, at + value.size())) {
      text.replace(at, token.size(), value);
      replaced = true;
    }
  }
  return replaced;
}

/// `element` with its dynamic string tokens expanded. $LIB depends on how glibc was built: both
/// known forms are given, the multiarch one first.
std::vector<std::string> expand(std::string_view element, std::string_view origin,
                                std::uint16_t machine) {
  std::string text(element);
  replace_token(text, "ORIGIN", origin);
  replace_token(text, "PLATFORM", machine == kAarch64 ? "aarch64" : "x86_64");
  std::string other = text;
  if (!replace_token(text, "LIB", "lib/" + std::string(multiarch(machine)))) return {text};
  replace_token(other, "LIB", "lib64");
  return {text, other};
}

class Builder {
 public:
  explicit Builder(const Snapshot& snapshot)
      : snapshot_(snapshot), machine_(target_machine(snapshot)) {}

  void add_run_path(std::string_view list, std::string_view tag, std::string_view origin) {
    add_list(list, ":", std::string(tag) + " of " + escape_foreign(origin), dir_name(origin));
  }

  void add_environment() {
    const Environment* environment = snapshot_.environment.get();
    if (environment == nullptr) {
      entries_.push_back({SearchKind::environment_unknown, {}, "LD_LIBRARY_PATH", false});
      return;
    }
    const std::string* value = environment->find("LD_LIBRARY_PATH");
    if (value == nullptr || value->empty()) return;
    const auto program = main_program(snapshot_);
    const std::string origin =
        program ? std::string(dir_name(snapshot_.objects[*program].path())) : std::string();
    add_list(*value, ":;", "LD_LIBRARY_PATH", origin);
  }

  void add_cache() { entries_.push_back({SearchKind::cache, {}, "ld.so.cache", false}); }

  void add_defaults() {
    const std::string arch(multiarch(machine_));
    for (const std::string& directory :
         {"/lib/" + arch, "/usr/lib/" + arch, std::string("/lib64"), std::string("/usr/lib64"),
          std::string("/lib"), std::string("/usr/lib")}) {
      add_directory(directory, std::string(kDefaultDirectory));
    }
  }

  std::vector<SearchEntry> take() { return std::move(entries_); }

 private:
  void add_list(std::string_view list, std::string_view separators, const std::string& source,
                std::string_view origin) {
    std::string text(list);
    std::replace_if(
        text.begin(), text.end(),
        [&](char c) { return separators.find(c) != std::string_view::npos; }, ':');
    for (const std::string_view element : split(text, ':')) {
      if (element.empty()) {
        entries_.push_back({SearchKind::current_directory, {}, source, false});
        continue;
      }
      for (std::string& directory : expand(element, origin, machine_)) {
        add_directory(std::move(directory), source);
      }
    }
  }

  void add_directory(std::string directory, const std::string& source) {
    if (!directory.starts_with('/')) {
      entries_.push_back({SearchKind::current_directory, std::move(directory), source, false});
      return;
    }
    while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
    // glibc keeps one record a directory and does not look twice.
    const bool known = std::any_of(entries_.begin(), entries_.end(), [&](const SearchEntry& entry) {
      return entry.kind == SearchKind::directory && entry.directory == directory;
    });
    if (known) return;
    const auto hwcaps = snapshot_.disk.find(directory + "/glibc-hwcaps");
    const bool has_hwcaps =
        hwcaps != snapshot_.disk.end() && hwcaps->second.kind == DiskKind::directory;
    entries_.push_back({SearchKind::directory, std::move(directory), source, has_hwcaps});
  }

  const Snapshot& snapshot_;
  std::uint16_t machine_;
  std::vector<SearchEntry> entries_;
};

/// Whose run paths count: a loaded object, or a file on disk.
struct Caller {
  const ElfFacts* elf = nullptr;
  std::string path;  ///< As the loader knows it; $ORIGIN is its directory.
};

Caller owner_of(const Snapshot& snapshot, std::size_t object) {
  std::string name = loader_name(snapshot, object);
  if (name.empty()) name = snapshot.objects[object].path();
  return {snapshot.objects[object].elf.get(), std::move(name)};
}

Caller owner_of(const Snapshot& snapshot, std::string_view file) {
  const auto entry = snapshot.disk.find(std::string(file));
  return {entry == snapshot.disk.end() ? nullptr : entry->second.elf.get(), std::string(file)};
}

}  // namespace

std::uint16_t target_machine(const Snapshot& snapshot) {
  if (const auto program = main_program(snapshot)) {
    if (const ElfFacts* elf = snapshot.objects[*program].elf.get()) return elf->machine;
  }
  for (const LoadedObject& object : snapshot.objects) {
    const ElfFacts* elf = object.elf.get();
    if (elf != nullptr && object.executable && elf->machine != 0) return elf->machine;
  }
  return 0;
}

std::vector<SearchEntry> search_path(const Snapshot& snapshot, std::optional<std::size_t> caller,
                                     std::string_view caller_file) {
  Builder builder(snapshot);
  const auto program = main_program(snapshot);
  const auto object = caller ? caller : program;
  Caller own;
  if (!caller_file.empty()) {
    own = owner_of(snapshot, caller_file);
  } else if (object) {
    own = owner_of(snapshot, *object);
  }
  if (own.elf == nullptr || !own.elf->runpath) {
    // A caller with DT_RUNPATH switches every DT_RPATH off, the main program's too.
    if (own.elf != nullptr && own.elf->rpath) {
      builder.add_run_path(*own.elf->rpath, "RPATH", own.path);
    }
    if (program && (program != object || !caller_file.empty())) {
      const Caller main = owner_of(snapshot, *program);
      if (main.elf != nullptr && main.elf->rpath && !main.elf->runpath) {
        builder.add_run_path(*main.elf->rpath, "RPATH", main.path);
      }
    }
  }
  builder.add_environment();
  if (own.elf != nullptr && own.elf->runpath) {
    builder.add_run_path(*own.elf->runpath, "RUNPATH", own.path);
  }
  builder.add_cache();
  builder.add_defaults();
  return builder.take();
}

}  // namespace cudart_doctor
