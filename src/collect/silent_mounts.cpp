#include "cudart_doctor/collect/silent_mounts.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {

std::set<std::string> silent_mounts(const ProcDirectory& process,
                                    const std::set<std::string>& silent) {
  if (silent.empty()) return {};
  const auto text = process.read_file("mountinfo");
  if (!text) return {};
  const std::string proc = std::string(dir_name(process.path())) + "/";
  const std::set<std::string> points = parse_mount_points(*text);
  std::set<std::string> out;
  for (const std::string& path : silent) {
    // A link there leads to another file system, and only that does not answer. What is no absolute
    // path ("(unreachable)/lib/a.so") lies below no mount point that is named here.
    if (path.starts_with(proc) || !path.starts_with('/')) continue;
    std::string folder = path;
    while (folder.size() > 1 && !points.contains(folder)) {
      folder.resize(std::max<std::size_t>(folder.rfind('/'), 1));
    }
    if (folder.size() > 1) out.insert(std::move(folder));
  }
  return out;
}

bool lies_in(const std::set<std::string>& folders, std::string_view path) {
  for (const std::string& folder : folders) {
    const bool begins = path.starts_with(folder);
    if (begins && (path.size() == folder.size() || path[folder.size()] == '/')) return true;
  }
  return false;
}

}  // namespace cudart_doctor
