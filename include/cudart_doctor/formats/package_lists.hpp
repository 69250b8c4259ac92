// What package managers write down about the files that they installed: RECORD of wheels,
// conda-meta, dpkg's lists, rpm's headers. Bytes in, values out. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// Whether a listed path is of interest; it is given as the list has it.
using KeepPath = std::function<bool(std::string_view path)>;

/// A package as its own record describes it.
struct PackageRecord {
  std::string name;
  std::string version;             ///< Of an rpm with its release, "12.8.90-1"; "" where not told.
  std::vector<std::string> paths;  ///< Those that were to be kept.
};

/// Paths of a wheel's RECORD (CSV; relative to its site directory, ".." allowed).
std::vector<std::string> parse_wheel_record(std::string_view text, const KeepPath& keep);

/// Name, version and "files" (relative to the prefix) of a file in conda-meta. Errors: malformed.
Result<PackageRecord> parse_conda_meta(std::string_view text, const KeepPath& keep);

/// Paths of /var/lib/dpkg/info/PACKAGE.list: absolute, one a line.
std::vector<std::string> parse_dpkg_list(std::string_view text, const KeepPath& keep);

/// Paths of PACKAGE.md5sums, made absolute: what images without dpkg keep instead of a list.
std::vector<std::string> parse_dpkg_sums(std::string_view text, const KeepPath& keep);

/// Name and version of a status file's stanza.
struct DpkgStanza {
  std::string package;
  std::string version;
};
/// The first stanza of `package` (any where empty) and `architecture` (any where empty).
std::optional<DpkgStanza> find_dpkg_stanza(std::string_view status, std::string_view package,
                                           std::string_view architecture);

/// A header as rpm's database keeps it. Errors: malformed, limit (more than 2^20 files).
Result<PackageRecord> parse_rpm_header(std::span<const std::byte> bytes, const KeepPath& keep);

}  // namespace cudart_doctor
