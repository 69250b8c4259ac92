#include "program_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include <cerrno>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

/// Linux 6.3; where vm.memfd_noexec is set nothing else can be executed.
constexpr unsigned kExecutable = 0x10;
constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;

Result<UniqueFd> sealed_copy(const std::string& path) {
  const auto failed = [&] {
    return tl::unexpected(system_error(errno, "a copy of " + path, Need::file_access));
  };
  const UniqueFd from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!from.valid()) return failed();
  UniqueFd copy(::memfd_create("cudart-doctor", kFlags | kExecutable));
  if (!copy.valid() && errno == EINVAL) copy = UniqueFd(::memfd_create("cudart-doctor", kFlags));
  if (!copy.valid()) return failed();
  constexpr std::size_t kPart = 1u << 30;
  ssize_t count = 0;
  do {
    count = ::sendfile(copy.get(), from.get(), nullptr, kPart);
  } while (count > 0 || (count < 0 && errno == EINTR));
  constexpr int kSeals = F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
  if (count < 0 || ::fcntl(copy.get(), F_ADD_SEALS, kSeals) != 0) return failed();
  return copy;
}

}  // namespace

Result<UniqueFd> open_program(const std::string& path, const ChildRights& rights) {
  if (rights.root.valid()) return sealed_copy(path);
  UniqueFd program(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!program.valid()) return tl::unexpected(system_error(errno, path, Need::file_access));
  return program;
}

}  // namespace cudart_doctor
