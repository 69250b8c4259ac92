#include "card_users.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

bool is_card_node(std::string_view path) {
  constexpr std::string_view kStart = "/dev/nvidia";
  return path.starts_with(kStart) && parse_unsigned(path.substr(kStart.size()), 10).has_value();
}

NodeUsers find_node_users(const ProcDirectory& proc) {
  NodeUsers users;
  const auto pids = proc.list_pids();
  if (!pids) return users;
  for (const std::int64_t pid : *pids) {
    const std::string folder = std::to_string(pid) + "/fd";
    const auto names = proc.list(folder);
    if (!names) {
      // One that has ended holds nothing.
      if (names.error().kind == ErrorKind::permission) ++users.unreadable;
      continue;
    }
    for (const std::string& name : *names) {
      const auto target = proc.read_link(folder + "/" + name);
      if (target && is_card_node(*target)) users.by_node[*target].insert(pid);
    }
  }
  return users;
}

}  // namespace cudart_doctor
