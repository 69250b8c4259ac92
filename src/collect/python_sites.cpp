#include "cudart_doctor/collect/python_sites.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/python_names.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxConfig = 64u << 10;

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool has_dot_parts(std::string_view path) {
  const auto parts = split(path, '/');
  return std::any_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part == "." || part == ".."; });
}

}  // namespace

std::optional<std::string> SiteFinder::real_path(const std::string& path) const {
  if (context_.is_skipped(path)) return std::nullopt;
  context_.progress("follow interpreter", path);
  auto found = context_.files.find(path);
  if (!found) return std::nullopt;
  auto real = context_.files.real_path(*found);
  return real ? std::optional(std::move(*real)) : std::nullopt;
}

std::optional<SiteSearch> SiteFinder::of_venv(const std::string& directory) const {
  const std::string file = directory + "/pyvenv.cfg";
  if (context_.is_skipped(file)) return std::nullopt;
  context_.progress("read pyvenv.cfg", file);
  auto text = context_.files.read_text(file, kMaxConfig);
  if (!text) return std::nullopt;
  const VenvConfig config = parse_pyvenv_cfg(*text);
  SiteSearch search = of_prefix(directory, config.version);
  search.user_sites = config.system_sites;
  search.is_venv = true;
  if (config.system_sites && config.home.starts_with('/')) {
    append(search.directories,
           of_prefix(std::string(dir_name(config.home)), search.version).directories);
  }
  return search;
}

SiteSearch SiteFinder::of_prefix(const std::string& prefix, const std::string& version) const {
  SiteSearch search;
  std::vector<std::string> versions;
  if (!version.empty()) {
    versions.push_back(version);
  } else if (auto names = disk_.list(prefix + "/lib", "python3.")) {
    for (const auto& name : *names) {
      if (!name.starts_with("python3.")) continue;
      if (auto found = python_version_in(name)) versions.push_back(*found);
    }
  }
  if (!versions.empty()) search.version = versions.front();
  for (const auto& one : versions) {
    // The system's interpreter on Debian: local packages first, then the distribution's.
    if (prefix == "/usr") {
      search.directories.push_back("/usr/local/lib/python" + one + "/dist-packages");
      search.directories.push_back("/usr/local/lib64/python" + one + "/site-packages");
      search.directories.push_back("/usr/local/lib/python" + one + "/site-packages");
    }
    search.directories.push_back(prefix + "/lib64/python" + one + "/site-packages");
    search.directories.push_back(prefix + "/lib/python" + one + "/site-packages");
    if (prefix == "/usr/local") {
      search.directories.push_back(prefix + "/lib/python" + one + "/dist-packages");
    }
  }
  if (prefix == "/usr") search.directories.emplace_back("/usr/lib/python3/dist-packages");
  return search;
}

Result<std::string> SiteFinder::named_interpreter(const std::string& path) const {
  if (context_.is_skipped(path)) return path;
  context_.progress("look at --python", path);
  const std::string shown = "--python " + escape_foreign(path) + ": ";
  const auto info = context_.files.stat(path);
  if (!info) {
    const bool absent = info.error().kind == ErrorKind::not_found;
    return fail(absent ? ErrorKind::usage : info.error().kind,
                absent ? shown + "No such file or directory" : info.error().message);
  }
  if (info->is_directory()) {
    for (const std::string_view name : {"/bin/python", "/bin/python3"}) {
      std::string inside = path.substr(0, path.find_last_not_of('/') + 1) + std::string(name);
      if (context_.is_skipped(inside)) continue;
      const auto found = context_.files.stat(inside);
      if (found && found->is_regular()) return inside;
    }
    return fail(ErrorKind::usage, shown + "a directory without bin/python");
  }
  const bool named =
      is_python_name(base_name(path)) || is_python_name(base_name(real_path(path).value_or(path)));
  if (!info->is_regular() || !named) return fail(ErrorKind::usage, shown + "no Python interpreter");
  return path;
}

SiteSearch SiteFinder::of_interpreter(const std::string& path) const {
  std::string bin(dir_name(path));
  // "./python" and "../bin/python": the last part of such a directory is not its name.
  if (has_dot_parts(bin)) bin = real_path(bin).value_or(bin);
  for (const auto& directory : {std::string(dir_name(bin)), bin}) {
    if (auto search = of_venv(directory)) return *search;
  }
  const std::string real = real_path(path).value_or(path);
  // A link into an environment (uv, pipx put such links into ~/.local/bin).
  if (real != path) {
    if (auto search = of_venv(std::string(dir_name(dir_name(real))))) return *search;
  }
  std::string prefix(dir_name(dir_name(real)));
  // Merged /usr: /bin is a link, and an unresolved path may still say so.
  if (prefix == "/") prefix = "/usr";
  return of_prefix(prefix, python_version_in(base_name(real)).value_or(""));
}

std::optional<std::string> SiteFinder::on_path(const std::string& path_value,
                                               const std::string& name) const {
  for (const auto directory : split(path_value, ':')) {
    if (!directory.starts_with('/')) continue;
    std::string path = std::string(directory) + "/" + name;
    if (context_.is_skipped(path)) continue;
    context_.progress("search PATH", path);
    auto info = context_.files.stat(path);
    constexpr std::uint32_t kAnyExecute = 0111;
    if (info && info->is_regular() && (info->mode & kAnyExecute) != 0) return path;
  }
  return std::nullopt;
}

}  // namespace cudart_doctor
