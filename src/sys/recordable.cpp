// Whether the recorder can be in a program: what its loader will do with LD_AUDIT.
#include <elf.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "cudart_doctor/sys/gained_rights.hpp"
#include "interpreter.hpp"

namespace cudart_doctor {
namespace {

#if defined(__aarch64__)
constexpr std::uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr std::uint16_t kOwnMachine = EM_X86_64;
#endif

/// As the kernel: an interpreter may be a script, a few times.
constexpr int kMaxInterpreters = 5;
/// What the kernel reads of a script (BINPRM_BUF_SIZE).
constexpr std::size_t kHeadSize = 256;

/// Whether the process will have other rights than the caller. The loader then drops LD_AUDIT.
bool changes_rights(int fd, const struct stat& info) {
  if (is_set_id()) return true;
  struct statvfs system = {};
  if (::fstatvfs(fd, &system) == 0 && (system.f_flag & ST_NOSUID) != 0) return false;
  if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::getuid()) return true;
  // Without the group's right to execute the bit means mandatory locking.
  constexpr mode_t kSetGroup = S_ISGID | S_IXGRP;
  if ((info.st_mode & kSetGroup) == kSetGroup && info.st_gid != ::getgid()) return true;
  return ::getuid() != 0 && ::fgetxattr(fd, "security.capability", nullptr, 0) > 0;
}

Recordable of_loader(std::string_view loader) {
  return loader.starts_with("ld-linux") ? Recordable::yes : Recordable::no_libc;
}

Recordable of_program(ElfReader& reader) {
  const ElfFacts facts = reader.read_facts();
  if (facts.machine != kOwnMachine) return Recordable::no_other_class;
  if (facts.interpreter) return of_loader(base_name(*facts.interpreter));
  // A loader that is the command itself: `ld-linux-x86-64.so.2 ./program`.
  if (facts.soname && facts.soname->starts_with("ld-")) return of_loader(*facts.soname);
  return facts.damage.empty() ? Recordable::no_static : Recordable::unknown;
}

/// The words of a "#!" line: interpreter and, as one, its argument.
std::vector<std::string_view> interpreter_words(std::string_view head) {
  const std::string_view line = trim(head.substr(2, head.find('\n') - 2));
  const std::size_t blank = line.find_first_of(" \t");
  if (blank == std::string_view::npos) return {line};
  return {line.substr(0, blank), trim(line.substr(blank))};
}

/// The program that `env` is to start: the first word that is neither an option nor a variable.
std::string_view program_of_env(std::string_view argument) {
  for (const std::string_view word : split(argument, ' ')) {
    if (!word.empty() && word.front() != '-' && word.find('=') == std::string_view::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace

std::string interpreter_of(std::string_view head) {
  // What has no "#!" line is given to the shell by execvp.
  if (!head.starts_with("#!")) return "/bin/sh";
  const auto words = interpreter_words(head);
  if (base_name(words.front()) == "env" && words.size() > 1) {
    const std::string_view program = program_of_env(words[1]);
    return find_command(std::string(program)).value_or("");
  }
  return std::string(words.front());
}

namespace {

struct Look {
  Recordable answer = Recordable::unknown;
  std::string next{};  ///< To be asked instead; "" where `answer` is it.
};

Look look_at(const std::string& file) {
  // Not blocking: a FIFO is no program, and must not hold the doctor.
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::array<char, kHeadSize> buffer = {};
  const ssize_t count = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  if (count < 0) return {};
  const std::string_view head(buffer.data(), static_cast<std::size_t>(count));
  if (!head.starts_with(ELFMAG)) return {.next = interpreter_of(head)};
  if (changes_rights(fd.get(), info)) return {.answer = Recordable::no_set_id};
  FileSource source(std::move(fd), static_cast<std::uint64_t>(info.st_size));
  auto reader = ElfReader::open(source, ElfImage::file);
  if (reader) return {.answer = of_program(*reader)};
  const bool other = reader.error().kind == ErrorKind::unsupported;
  return {.answer = other ? Recordable::no_other_class : Recordable::unknown};
}

}  // namespace

Recordable recordable(const std::string& file) {
  std::string next = file;
  for (int depth = 0; depth < kMaxInterpreters && !next.empty(); ++depth) {
    Look look = look_at(next);
    if (look.next.empty()) return look.answer;
    next = std::move(look.next);
  }
  return Recordable::unknown;
}

}  // namespace cudart_doctor
