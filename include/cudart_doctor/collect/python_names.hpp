// The texts of Python's installation layout: pyvenv.cfg, metadata names, paths. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cudart_doctor {

/// What pyvenv.cfg says, as far as it is used.
struct VenvConfig {
  std::string home;           ///< Directory of the base interpreter.
  std::string version;        ///< "3.11", "" when not told.
  bool system_sites = false;  ///< include-system-site-packages
};
VenvConfig parse_pyvenv_cfg(std::string_view text);

/// Distribution name (normalised: lower case, "-" for runs of "-", "_", ".") and version of a
/// NAME-VERSION.dist-info or NAME[-VERSION][-pyX.Y].egg-info; nothing for other names.
std::optional<std::pair<std::string, std::string>> parse_metadata_name(std::string_view name);

/// The site directory that a mapped path lies in: up to and with "site-packages" or
/// "dist-packages"; nothing for other paths.
std::optional<std::string> site_directory_of(std::string_view path);

/// "3.11" of "/usr/bin/python3.11", "libpython3.11.so.1.0" or ".../lib/python3.11/...".
std::optional<std::string> python_version_in(std::string_view path);

/// True for the base name of an interpreter: python, python3, python3.11, ...
bool is_python_name(std::string_view name);

}  // namespace cudart_doctor
