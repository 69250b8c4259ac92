// Where a Python interpreter in the target's view keeps its packages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Directories that an interpreter would search, whether or not they exist; in order.
struct SiteSearch {
  std::vector<std::string> directories;
  std::string version;     ///< "3.11", "" when not found.
  bool user_sites = true;  ///< false in a virtual environment that shuts them out.
  bool is_venv = false;
};

class SiteFinder {
 public:
  SiteFinder(const CaptureContext& context, const DiskReader& disk)
      : context_(context), disk_(disk) {}

  /// The interpreter that the user means by `path` (absolute): itself, or bin/python of the
  /// environment that it is the root of. Errors: usage (not there, no Python), and what a look-up
  /// of the path can fail with.
  [[nodiscard]] Result<std::string> named_interpreter(const std::string& path) const;
  /// Of an interpreter: by the pyvenv.cfg beside it, else by where its links lead.
  [[nodiscard]] SiteSearch of_interpreter(const std::string& path) const;
  /// Of a prefix such as /opt/conda; `version` may be "" (then every lib/python3.* counts).
  [[nodiscard]] SiteSearch of_prefix(const std::string& prefix, const std::string& version) const;
  /// The virtual environment in `directory`; nothing where there is no pyvenv.cfg.
  [[nodiscard]] std::optional<SiteSearch> of_venv(const std::string& directory) const;
  /// The first executable `name` on a PATH value; nothing when there is none.
  [[nodiscard]] std::optional<std::string> on_path(const std::string& path_value,
                                                   const std::string& name) const;

  /// Where an interpreter's path leads; nothing where it leads nowhere.
  [[nodiscard]] std::optional<std::string> real_path(const std::string& path) const;

 private:
  const CaptureContext& context_;
  const DiskReader& disk_;
};

}  // namespace cudart_doctor
