// Databases of packages that are not read. Where one is, any file may be of a package that it
// lists: nobody is said to own nothing.
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

struct Database {
  std::string_view path;
  std::string_view manager;
};

constexpr std::array<Database, 7> kDatabases{{{"/var/lib/pacman/local", "pacman"},
                                              {"/lib/apk/db/installed", "apk"},
                                              {"/usr/lib/apk/db/installed", "apk"},
                                              {"/var/db/pkg", "Portage"},
                                              {"/var/db/xbps", "XBPS"},
                                              {"/usr/lib/opkg/status", "opkg"},
                                              {"/var/lib/pkgtools/packages", "pkgtools"}}};

}  // namespace

void search_unread(OwnerSearch& search) {
  for (const Database& database : kDatabases) {
    if (search.is_done()) return;
    const std::string path(database.path);
    if (search.context().is_skipped(path)) {
      search.leave_all_open(path + ": " + std::string(kNoAnswer));
      continue;
    }
    search.context().progress("read package records", path);
    const auto info = search.context().files.stat(path);
    if (info) {
      search.leave_all_open(path + ": records of " + std::string(database.manager) +
                            " are not read");
    } else if (info.error().kind != ErrorKind::not_found) {
      search.leave_all_open(info.error().message);
    }
  }
}

}  // namespace cudart_doctor
