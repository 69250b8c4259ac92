#include "static_tls.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/formats/ld_cache.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "interpreter.hpp"

namespace cudart_doctor {
namespace {

/// This runs while a command starts.
constexpr std::size_t kMaxLibraries = 256;
constexpr std::size_t kMaxScript = std::size_t{64} << 10U;
constexpr std::size_t kMaxCache = std::size_t{16} << 20U;
constexpr std::size_t kMaxWords = 16;
constexpr int kMaxInterpreters = 5;
/// What jemalloc has, the largest of the usual preloads.
constexpr std::uint64_t kUsualPreload = 2752;
/// The loader aligns each block; no usual library asks for more.
constexpr std::uint64_t kAlign = 64;

/// Up to `most` bytes of a regular file; "" where there are none.
std::string beginning(const std::string& path, std::size_t most) {
  // Not blocking: a FIFO must not hold the doctor.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(std::min<std::size_t>(most, static_cast<std::size_t>(info.st_size)), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count =
        ::pread(fd.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (count <= 0) break;
    size += static_cast<std::size_t>(count);
  }
  text.resize(size);
  return text;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What the loader has to know of a file.
struct Needs {
  std::string folder;  ///< $ORIGIN
  std::uint64_t tls = 0;
  std::vector<std::string> libraries{};
  std::string run_path{};
};

std::optional<Needs> read_needs(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  FileSource source(std::move(fd), static_cast<std::uint64_t>(info.st_size));
  auto reader = ElfReader::open(source, ElfImage::file);
  if (!reader) return std::nullopt;
  Needs needs{.folder = std::string(dir_name(path))};
  for (const ProgramHeader& header : reader->program_headers()) {
    if (header.type == PT_TLS) needs.tls = header.memsz;
  }
  const ElfFacts facts = reader->read_facts();
  needs.libraries = facts.needed;
  needs.run_path = facts.runpath.value_or(facts.rpath.value_or(""));
  return needs;
}

std::string with_origin(std::string_view text, const std::string& origin) {
  std::string out(text);
  for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"}) {
    for (std::size_t at = out.find(token); at != std::string::npos; at = out.find(token, at)) {
      out.replace(at, token.size(), origin);
      at += origin.size();
    }
  }
  return out;
}

/// Finds libraries by name, roughly as the loader does.
class Finder {
 public:
  std::string find(const std::string& name, const Needs& asker) {
    if (name.find('/') != std::string::npos) return with_origin(name, asker.folder);
    for (const std::string& list : {asker.run_path, variable("LD_LIBRARY_PATH")}) {
      if (auto found = in_folders(name, with_origin(list, asker.folder)); !found.empty())
        return found;
    }
    if (const auto at = cache().find(name); at != cache().end()) return at->second;
    return in_folders(name, "/lib64:/usr/lib64:/lib:/usr/lib");
  }

 private:
  static std::string in_folders(const std::string& name, std::string_view list) {
    for (const std::string_view folder : split(list, ':')) {
      if (folder.empty()) continue;
      std::string path = std::string(folder) + "/" + name;
      if (::access(path.c_str(), R_OK) == 0) return path;
    }
    return {};
  }
  /// The first of each name, read when it is needed.
  const std::map<std::string, std::string>& cache() {
    if (std::exchange(read_, true)) return cache_;
    const std::string text = beginning("/etc/ld.so.cache", kMaxCache);
    const auto entries =
        parse_ld_cache(std::as_bytes(std::span(text)), [](std::string_view) { return true; });
    if (!entries) return cache_;
    for (const LoaderCacheEntry& entry : *entries) {
      constexpr std::uint32_t kOther = 0xff00;  // What is 32-bit on x86 has none of these bits.
      if ((entry.flags & kOther) != 0) cache_.try_emplace(entry.soname, entry.path);
    }
    return cache_;
  }
  bool read_ = false;
  std::map<std::string, std::string> cache_;
};

/// The program file that runs, over scripts.
std::string program_of(const std::string& name) {
  std::string file = find_command(name).value_or("");
  for (int depth = 0; depth < kMaxInterpreters && !file.empty(); ++depth) {
    const std::string head = beginning(file, 256);
    if (head.starts_with(ELFMAG)) return file;
    file = interpreter_of(head);
  }
  return {};
}

/// Names in a list of preloads.
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : std::string(list) + " ") {
    if (c != ' ' && c != ':' && c != '\n' && c != '\t') {
      name += c;
    } else if (!name.empty()) {
      names.push_back(std::exchange(name, {}));
    }
  }
  return names;
}

/// Whether LD_PRELOAD is set in texts, and the names given there in the plain.
struct Preloads {
  bool any = false;
  std::vector<std::string> names{};
};

Preloads with_those_in(std::string_view text, Preloads preloads) {
  constexpr std::string_view kName = "LD_PRELOAD";
  for (std::size_t at = text.find(kName); at != std::string_view::npos; at = text.find(kName)) {
    preloads.any = true;
    text.remove_prefix(at + kName.size());
    if (!text.starts_with('=') || preloads.names.size() >= kMaxLibraries) continue;
    const std::size_t quoted = text.find_first_not_of("\"'", 1);
    if (quoted == std::string_view::npos) break;
    const std::string_view value = text.substr(quoted);
    const std::string_view list =
        value.substr(0, value.find_first_of(quoted > 1 ? "\"'\n" : " \t\n\"';&"));
    for (std::string& name : names_in(list)) preloads.names.push_back(std::move(name));
  }
  return preloads;
}

/// In the words of a command and in the scripts among them.
Preloads preloads_set_by(const std::vector<std::string>& command) {
  Preloads preloads;
  for (std::size_t i = 0; i < command.size() && i < kMaxWords; ++i) {
    preloads = with_those_in(command[i], std::move(preloads));
    const std::string file = i == 0 ? find_command(command[i]).value_or("") : command[i];
    const std::string text = beginning(file, kMaxScript);
    if (!text.starts_with(ELFMAG)) preloads = with_those_in(text, std::move(preloads));
  }
  return preloads;
}

/// Of one program and its libraries, with those that are preloaded.
std::uint64_t tls_of_program(const std::string& file, const std::vector<std::string>& preloads,
                             Finder& finder) {
  struct Wanted {
    std::string name;
    Needs asker;
  };
  std::deque<Wanted> wanted;
  const Needs program = read_needs(file).value_or(Needs{});
  for (const std::string& name : preloads) wanted.push_back({name, program});
  for (const std::string& name : program.libraries) wanted.push_back({name, program});

  std::set<std::string> seen;
  std::uint64_t total = 0;
  for (; !wanted.empty() && seen.size() < kMaxLibraries; wanted.pop_front()) {
    const Wanted& next = wanted.front();
    const std::string_view name = base_name(next.name);
    if (name.starts_with("libc.so.") || name.starts_with("ld-linux")) continue;
    if (!seen.emplace(name).second) continue;
    const auto needs = read_needs(finder.find(next.name, next.asker));
    if (!needs) continue;
    // A lying size is not passed on.
    constexpr std::uint64_t kMost = std::uint64_t{4} << 20U;
    total +=
        std::min(kMost, needs->tls) / kAlign * kAlign + (needs->tls % kAlign != 0 ? kAlign : 0);
    for (const std::string& library : needs->libraries) wanted.push_back({library, *needs});
  }
  return total;
}

}  // namespace

std::uint64_t static_tls_of(const std::vector<std::string>& command) {
  std::vector<std::string> preloads =
      names_in(variable("LD_PRELOAD") + " " + beginning("/etc/ld.so.preload", kMaxScript));
  Preloads set = preloads_set_by(command);
  std::move(set.names.begin(), set.names.end(), std::back_inserter(preloads));
  Finder finder;
  std::uint64_t most = set.any ? kUsualPreload : 0;
  std::set<std::string> programs;
  for (std::size_t i = 0; i < command.size() && i < kMaxWords; ++i) {
    // A word may be a program that the first one starts: numactl, env, setarch.
    std::string file = program_of(command[i]);
    if (i > 0 && file.empty()) continue;
    if (!programs.insert(file).second) continue;
    most = std::max(most, tls_of_program(file, preloads, finder));
  }
  return most;
}

}  // namespace cudart_doctor
