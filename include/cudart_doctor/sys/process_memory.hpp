// The memory of another process as ByteSource: offsets are its addresses. Reading needs the same
// right as attaching with ptrace, but neither stops nor changes the process.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class ProcessMemory final : public ByteSource {
 public:
  /// `process` is /proc/PID and must outlive this. process_vm_readv is used only where `pid` is the
  /// number that our own PID namespace gives the process; else, and where the call is refused or
  /// filtered out (seccomp in containers), /proc/PID/mem: `descriptor`, where that was opened
  /// already, perhaps by somebody with more rights. `refusal`, where there is one, is the
  /// answer to every read: an earlier one did not come back.
  ProcessMemory(const ProcDirectory& process, std::int64_t pid, int descriptor = -1,
                std::optional<Error> refusal = std::nullopt)
      : process_(process), pid_(pid), descriptor_(descriptor), refusal_(std::move(refusal)) {}

  /// Short where the next page is not there; 0 where the first is not. A page may lie in a file
  /// that never answers. Errors: permission, gone, io.
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }
  /// For another reader of the same process: `pid` of the constructor, 0 after a refused call.
  [[nodiscard]] std::int64_t pid() const { return pid_; }

 private:
  Result<std::size_t> read_by_call(std::uint64_t offset, std::span<std::byte> out);
  Result<std::size_t> read_by_file(std::uint64_t offset, std::span<std::byte> out);

  const ProcDirectory& process_;
  std::int64_t pid_ = 0;  ///< 0: never by process_vm_readv.
  int descriptor_ = -1;
  UniqueFd mem_;
  std::optional<Error> refusal_;
};

/// A window into another source: offset 0 here is `base` there.
class ShiftedSource final : public ByteSource {
 public:
  ShiftedSource(ByteSource& source, std::uint64_t base) : source_(source), base_(base) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }

 private:
  ByteSource& source_;
  std::uint64_t base_ = 0;
};

}  // namespace cudart_doctor
