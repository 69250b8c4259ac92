#include "cudart_doctor/collect/python_env.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/python_names.hpp"
#include "cudart_doctor/collect/python_sites.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxVersionFile = 4096;

class PythonReader {
 public:
  PythonReader(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk,
               const PythonSigns& signs)
      : context_(context), snapshot_(snapshot), disk_(disk), signs_(signs), sites_(context, disk) {}

  Result<void> read();

 private:
  [[nodiscard]] const std::string* variable(std::string_view name) const {
    const Environment* environment = snapshot_.environment.get();
    const std::string* value = environment == nullptr ? nullptr : environment->find(name);
    return value != nullptr && !value->empty() ? value : nullptr;
  }
  [[nodiscard]] bool is_python() const;
  [[nodiscard]] std::string version_of_target() const;
  [[nodiscard]] std::optional<std::string> started_as() const;
  [[nodiscard]] std::optional<std::string> interpreter_of_target() const;
  [[nodiscard]] std::string resolve_shim(const std::string& path);

  Result<void> choose_named();
  void choose_own();
  void choose_active();
  void choose(SiteSearch search, std::string_view by);
  void add_python_path();
  void add_user_sites();
  void keep_directories();

  const CaptureContext& context_;
  Snapshot& snapshot_;
  const DiskReader& disk_;
  const PythonSigns& signs_;
  SiteFinder sites_;
  SiteSearch search_;
  std::vector<std::string> wanted_;  ///< In search order; not all of them need exist.
  std::ptrdiff_t python_path_count_ = 0;
};

bool PythonReader::is_python() const {
  const std::string* executable = snapshot_.process.executable.get();
  if (executable != nullptr && is_python_name(base_name(*executable))) return true;
  return signs_.library;
}

std::string PythonReader::version_of_target() const {
  if (const std::string* executable = snapshot_.process.executable.get()) {
    if (auto version = python_version_in(base_name(*executable))) return *version;
  }
  return signs_.version;
}

/// The path by which the interpreter was started: only it leads to a virtual environment, whose
/// python is a link to another place. Nothing where a title was written over the command line.
std::optional<std::string> PythonReader::started_as() const {
  const auto* arguments = snapshot_.process.command_line.get();
  if (arguments == nullptr || arguments->empty()) return std::nullopt;
  const std::string& first = arguments->front();
  if (!is_python_name(base_name(first))) return std::nullopt;
  if (first.starts_with('/')) return first;
  if (first.find('/') == std::string::npos) {
    const std::string* path = variable("PATH");
    return path == nullptr ? std::nullopt : sites_.on_path(*path, first);
  }
  auto directory = context_.process.read_link("cwd");
  if (!directory || !directory->starts_with('/')) return std::nullopt;
  return *directory + "/" + first;
}

/// started_as(), where it leads to the program that really runs: not a shim, not another python3
/// that the PATH has by now.
std::optional<std::string> PythonReader::interpreter_of_target() const {
  auto path = started_as();
  const std::string* executable = snapshot_.process.executable.get();
  if (!path || executable == nullptr) return path;
  return sites_.real_path(*path) == *executable ? path : std::nullopt;
}

/// pyenv's python3 on PATH is a shell script in a folder "shims" that runs versions/V/bin/python3.
std::string PythonReader::resolve_shim(const std::string& path) {
  const std::string directory(dir_name(path));
  if (base_name(directory) != "shims") return path;
  const std::string* root_variable = variable("PYENV_ROOT");
  const std::string root =
      root_variable != nullptr ? *root_variable : std::string(dir_name(directory));
  std::string version;
  if (const std::string* chosen = variable("PYENV_VERSION")) {
    version = *chosen;
  } else if (const std::string file = root + "/version"; !context_.is_skipped(file)) {
    context_.progress("read pyenv version", file);
    if (auto text = context_.files.read_text(file, kMaxVersionFile)) version = *text;
  }
  version = std::string(trim(version.substr(0, version.find_first_of(":\n"))));
  std::string target = root + "/versions/" + version + "/bin/" + std::string(base_name(path));
  if (!version.empty() && context_.files.stat(target)) return target;
  snapshot_.capture.notes.push_back(
      "the Python environment was not found: " + escape_foreign(path) +
      " is a shim, and the interpreter behind it is not known");
  return {};
}

void PythonReader::choose(SiteSearch search, std::string_view by) {
  search_ = std::move(search);
  snapshot_.python.chosen_by = std::string(by);
  wanted_.insert(wanted_.end(), search_.directories.begin(), search_.directories.end());
}

/// --python: the user names an interpreter, so that one without packages is a slip to tell, not an
/// empty environment. A file that did not answer before is none: the reason is noted elsewhere.
Result<void> PythonReader::choose_named() {
  auto named = sites_.named_interpreter(context_.options.python);
  if (!named) return tl::unexpected(named.error());
  const std::string path = resolve_shim(*named);
  choose(sites_.of_interpreter(path.empty() ? *named : path), "--python");
  bool any = false;
  for (const auto& directory : search_.directories) {
    if (context_.is_skipped(directory)) return {};
    const auto info = context_.files.stat(directory);
    // What may not be looked at may be there.
    any = any || info || info.error().kind != ErrorKind::not_found;
  }
  if (any) return {};
  return fail(ErrorKind::usage,
              "--python " + escape_foreign(*named) +
                  ": it has no site-packages that could be found (looked for " +
                  escape_foreign(search_.directories.empty() ? "lib/python3.N in its prefix"
                                                             : search_.directories.back()) +
                  ")");
}

void PythonReader::choose_own() {
  const std::string version = version_of_target();
  const auto& mapped = signs_.sites;
  const auto interpreter = interpreter_of_target();
  const std::string* executable = snapshot_.process.executable.get();
  if (interpreter) {
    choose(sites_.of_interpreter(*interpreter), "command line");
  } else if (!mapped.empty()) {
    // An overwritten command line: what is mapped proves which packages are used.
    choose({mapped, version, true, true}, "mapped objects");
  } else if (const std::string* venv = variable("VIRTUAL_ENV")) {
    if (auto search = sites_.of_venv(*venv)) choose(*search, "VIRTUAL_ENV");
  }
  if (snapshot_.python.chosen_by.empty() && executable != nullptr &&
      is_python_name(base_name(*executable))) {
    choose(sites_.of_interpreter(*executable), "executable");
  }
  if (search_.version.empty()) search_.version = version;
  wanted_.insert(wanted_.end(), mapped.begin(), mapped.end());
}

void PythonReader::choose_active() {
  if (const std::string* venv = variable("VIRTUAL_ENV")) {
    if (auto search = sites_.of_venv(*venv)) return choose(*search, "VIRTUAL_ENV");
  }
  if (const std::string* conda = variable("CONDA_PREFIX")) {
    auto search = sites_.of_prefix(*conda, "");
    if (!search.directories.empty()) return choose(search, "CONDA_PREFIX");
  }
  const std::string* path = variable("PATH");
  if (path == nullptr) return;
  auto interpreter = sites_.on_path(*path, "python3");
  if (!interpreter) return;
  const std::string real = resolve_shim(*interpreter);
  if (!real.empty()) choose(sites_.of_interpreter(real), "python3 on PATH");
}

void PythonReader::add_python_path() {
  const std::string* value = variable("PYTHONPATH");
  if (value == nullptr) return;
  for (const auto directory : split(*value, ':')) {
    if (directory.starts_with('/')) wanted_.emplace_back(directory);
  }
  python_path_count_ = static_cast<std::ptrdiff_t>(wanted_.size());
}

void PythonReader::add_user_sites() {
  if (!search_.user_sites || search_.version.empty() || variable("PYTHONNOUSERSITE") != nullptr) {
    return;
  }
  std::string base;
  if (const std::string* user_base = variable("PYTHONUSERBASE")) {
    base = *user_base;
  } else if (const std::string* home = variable("HOME")) {
    base = *home + "/.local";
  }
  if (!base.starts_with('/')) return;
  // site.py: behind a virtual environment's own directory, but before a plain prefix's.
  wanted_.insert(search_.is_venv ? wanted_.end() : wanted_.begin() + python_path_count_,
                 base + "/lib/python" + search_.version + "/site-packages");
}

void PythonReader::keep_directories() {
  PythonFacts& python = snapshot_.python;
  std::vector<FileKey> seen;
  for (const auto& directory : wanted_) {
    if (std::find(python.site_directories.begin(), python.site_directories.end(), directory) !=
        python.site_directories.end()) {
      continue;
    }
    auto names = disk_.list(directory, "");
    if (!names) {
      if (names.error().kind != ErrorKind::not_found &&
          names.error().kind != ErrorKind::unsupported) {
        python.unread_directories.push_back(escape_foreign(directory) + ": " +
                                            names.error().message);
      }
      continue;
    }
    // lib64 is a link to lib in many environments: one directory, one entry.
    auto info = context_.files.stat(directory);
    if (info && std::find(seen.begin(), seen.end(), info->key) != seen.end()) continue;
    if (info) seen.push_back(info->key);
    python.site_directories.push_back(directory);
    for (const auto& name : *names) {
      if (auto found = parse_metadata_name(name)) {
        python.distributions.push_back({found->first, found->second, directory});
      }
    }
  }
}

Result<void> PythonReader::read() {
  snapshot_.python.is_python = is_python();
  add_python_path();
  if (!context_.options.python.empty()) {
    auto named = choose_named();
    if (!named) return named;
  } else if (snapshot_.python.is_python) {
    choose_own();
  } else {
    choose_active();
  }
  add_user_sites();
  keep_directories();
  return {};
}

}  // namespace

PythonSigns find_python_signs(const std::vector<LoadedObject>& objects) {
  PythonSigns signs;
  std::vector<std::pair<std::string, std::size_t>> counted;
  for (const auto& object : objects) {
    const std::string_view name = base_name(object.path());
    if (object.executable && name.starts_with("libpython")) {
      signs.library = true;
      if (signs.version.empty()) signs.version = python_version_in(name).value_or("");
    }
    auto site = site_directory_of(object.path());
    if (!site) continue;
    auto place = std::find_if(counted.begin(), counted.end(),
                              [&](const auto& entry) { return entry.first == *site; });
    if (place == counted.end()) place = counted.insert(counted.end(), {*site, 0});
    ++place->second;
  }
  std::sort(counted.begin(), counted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (auto& [site, count] : counted) signs.sites.push_back(std::move(site));
  return signs;
}

Result<void> read_python(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk,
                         const PythonSigns& signs) {
  return PythonReader(context, snapshot, disk, signs).read();
}

}  // namespace cudart_doctor
