// Which process listens on a TCP port: socket tables of every network namespace that can be seen,
// then the descriptors of every process.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

/// Inodes of listening sockets; `own` are those of our own network namespace.
struct Sockets {
  std::set<std::uint64_t> own;
  std::set<std::uint64_t> other;
  std::size_t namespaces = 0;  ///< Network namespaces whose tables were read.
};

void read_tables(const ProcDirectory& process, std::uint16_t port, std::set<std::uint64_t>& to) {
  for (const char* name : {"net/tcp", "net/tcp6"}) {
    auto text = process.read_file(name);
    if (!text) continue;
    for (const auto inode : parse_listeners(*text, port)) to.insert(inode);
  }
}

Sockets find_sockets(const ProcDirectory& root, const std::vector<std::int64_t>& pids,
                     std::uint16_t port) {
  Sockets sockets;
  std::set<std::string> seen;
  if (auto self = root.child("self")) {
    read_tables(*self, port, sockets.own);
    if (auto own = self->read_link("ns/net")) seen.insert(*own);
    ++sockets.namespaces;
  }
  for (const auto pid : pids) {
    auto process = root.child(std::to_string(pid));
    if (!process) continue;
    auto name = process->read_link("ns/net");
    if (!name || !seen.insert(*name).second) continue;
    read_tables(*process, port, sockets.other);
    ++sockets.namespaces;
  }
  return sockets;
}

struct Holder {
  std::uint64_t start_ticks = 0;
  std::int64_t pid = 0;
  auto operator<=>(const Holder&) const = default;
};

struct Holders {
  std::vector<Holder> found;
  std::size_t closed = 0;  ///< Processes whose descriptors could not be listed.
};

bool holds_socket(const ProcDirectory& process, const std::vector<std::string>& descriptors,
                  const std::set<std::uint64_t>& inodes) {
  constexpr std::string_view kPrefix = "socket:[";
  return std::any_of(descriptors.begin(), descriptors.end(), [&](const std::string& name) {
    auto link = process.read_link("fd/" + name);
    if (!link || !link->starts_with(kPrefix) || link->back() != ']') return false;
    const auto number =
        std::string_view(*link).substr(kPrefix.size(), link->size() - kPrefix.size() - 1);
    const auto inode = parse_unsigned(number, 10);
    return inode && inodes.contains(*inode);
  });
}

Holders find_holders(const ProcDirectory& root, const std::vector<std::int64_t>& pids,
                     const std::set<std::uint64_t>& inodes) {
  Holders holders;
  for (const auto pid : pids) {
    auto process = root.child(std::to_string(pid));
    if (!process) continue;
    auto descriptors = process->list("fd");
    if (!descriptors) {
      if (descriptors.error().kind == ErrorKind::permission) ++holders.closed;
      continue;
    }
    if (!holds_socket(*process, *descriptors, inodes)) continue;
    auto text = process->read_file("stat");
    auto stat = text ? parse_stat(*text) : Result<StatFile>(tl::unexpected(text.error()));
    holders.found.push_back({stat ? stat->start_ticks : 0, pid});
  }
  std::sort(holders.found.begin(), holders.found.end());
  return holders;
}

}  // namespace

Result<PortOwner> find_listener(std::uint16_t port, const std::string& proc_root) {
  auto root = ProcDirectory::open(proc_root);
  if (!root) return tl::unexpected(root.error());
  auto pids = root->list_pids();
  if (!pids) return tl::unexpected(pids.error());
  const std::string what = "TCP port " + std::to_string(port);

  const Sockets sockets = find_sockets(*root, *pids, port);
  const auto& inodes = sockets.own.empty() ? sockets.other : sockets.own;
  const Holders holders = find_holders(*root, *pids, inodes);
  const std::string closed =
      holders.closed == 0
          ? std::string()
          : "; " + count_of(holders.closed, "process", "processes") +
                " could not be looked into (needs the same user, or CAP_SYS_PTRACE)";
  if (inodes.empty()) {
    return fail(ErrorKind::not_found,
                "nothing listens on " + what + ": searched the IPv4 and IPv6 tables of " +
                    count_of(sockets.namespaces, "network namespace") + closed);
  }
  if (holders.found.empty()) {
    return fail(holders.closed > 0 ? ErrorKind::permission : ErrorKind::not_found,
                what + " has a listening socket, but no process that can be seen holds it: " +
                    count_of(pids->size(), "process", "processes") + " searched" + closed);
  }
  PortOwner owner;
  owner.pid = holders.found.front().pid;
  for (std::size_t i = 1; i < holders.found.size(); ++i) owner.also.push_back(holders.found[i].pid);
  return owner;
}

}  // namespace cudart_doctor
