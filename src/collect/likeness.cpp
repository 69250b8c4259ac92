#include "cudart_doctor/collect/likeness.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

/// FNV-1a twice, of different begins: 128 bits. Each text is followed by its size.
class Sum {
 public:
  explicit Sum(std::uint64_t salt)
      : one_of_many_salt_(salt), one_(kBegin ^ salt), two_(kBegin + salt * kPrime) {}
  void add(std::string_view text) {
    for (const char letter : text) step(static_cast<unsigned char>(letter));
    for (std::uint64_t size = text.size(), i = 0; i < sizeof size; ++i, size >>= 8U) {
      step(static_cast<unsigned char>(size & 0xffU));
    }
  }
  /// The order of these does not count.
  void add_one_of_many(std::string_view text) {
    Sum of_text(one_of_many_salt_);
    of_text.add(text);
    many_ += of_text.one_;
    other_many_ += of_text.two_;
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(one_) + "-" + std::to_string(two_) + "-" + std::to_string(many_) + "-" +
           std::to_string(other_many_);
  }

 private:
  void step(unsigned char byte) {
    one_ = (one_ ^ byte) * kPrime;
    two_ = (two_ ^ (byte + 0x9eU)) * kOtherPrime;
  }
  static constexpr std::uint64_t kBegin = 0xcbf29ce484222325ULL;
  static constexpr std::uint64_t kPrime = 0x100000001b3ULL;
  static constexpr std::uint64_t kOtherPrime = 0x9e3779b97f4a7c15ULL;
  std::uint64_t one_of_many_salt_;
  std::uint64_t one_;
  std::uint64_t two_;
  std::uint64_t many_ = 0;
  std::uint64_t other_many_ = 0;
};

/// Lines that name a file, without their addresses, in no order: what stacks and heaps are like
/// decides nothing, and neither does where a library without CUDA found a hole.
void add_maps(Sum& sum, std::string_view maps) {
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (line.find('/') == std::string_view::npos) continue;
    sum.add_one_of_many(line.substr(std::min(line.find(' '), line.size())));
  }
}

bool add_files(Sum& sum, const ProcDirectory& process) {
  for (const char* const name : {"environ", "cmdline", "cgroup"}) {
    const auto text = process.read_file(name);
    if (!text) return false;
    if (std::string_view(name) == "environ") {
      // A title was written over it, or over a part: the live environment is another place.
      const EnvironFile file = parse_environ(*text);
      if (file.all_nul || file.odd_entries != 0) return false;
    }
    sum.add(*text);
  }
  return true;
}

bool add_links(Sum& sum, const ProcDirectory& process) {
  constexpr std::array<const char*, 10> kLinks = {"exe",     "root",   "cwd",    "ns/cgroup",
                                                  "ns/ipc",  "ns/mnt", "ns/net", "ns/pid",
                                                  "ns/user", "ns/uts"};
  for (const char* const name : kLinks) {
    const auto target = process.read_link(name);
    if (!target) return false;
    sum.add(*target);
  }
  return true;
}

/// Of status what does not change from moment to moment.
bool add_rights(Sum& sum, const ProcDirectory& process) {
  const auto text = process.read_file("status");
  if (!text) return false;
  for (const std::string_view line : split(*text, '\n')) {
    for (const std::string_view field :
         {"Uid:", "Gid:", "Groups:", "CapPrm:", "CapEff:", "CapBnd:", "Seccomp:", "NoNewPrivs:"}) {
      if (line.starts_with(field)) sum.add(line);
    }
  }
  sum.add(std::to_string(parse_status(*text).ns_pids.size()));
  return true;
}

bool add_link_map(Sum& sum, const ProcDirectory& process, std::int64_t callable_pid) {
  constexpr std::size_t kBlock = 16U << 10U;
  ProcessMemory memory(process, callable_pid);
  CachedSource cache(memory, kBlock);
  const auto look = read_link_map(cache, read_auxv(process));
  if (!look) return false;
  for (const LinkedNamespace& space : look->namespaces) {
    if (!space.note.empty()) return false;
    sum.add(std::to_string(space.modules.size()));
    for (const LinkedModule& module : space.modules) sum.add(module.name);
  }
  return true;
}

}  // namespace

std::string likeness_of(const ProcDirectory& process, std::int64_t callable_pid,
                        const LikenessMaps& maps, std::uint64_t salt) {
  Sum sum(salt);
  add_maps(sum, maps.text);
  for (const std::string_view path : maps.ordered) sum.add(path);
  const bool whole = add_links(sum, process) && add_files(sum, process) &&
                     add_rights(sum, process) && add_link_map(sum, process, callable_pid);
  return whole ? sum.text() : std::string();
}

}  // namespace cudart_doctor
