// dpkg: one list of paths a package, versions in its status file. Images without dpkg itself
// ("distroless") keep a stanza and checksums a package in status.d instead.
#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

const std::string kLists = "/var/lib/dpkg/info";
const std::string kStatus = "/var/lib/dpkg/status";
const std::string kStanzas = "/var/lib/dpkg/status.d";
constexpr std::string_view kListEnd = ".list";
constexpr std::string_view kSumsEnd = ".md5sums";

bool is_likely(std::string_view package) {
  constexpr std::array<std::string_view, 5> kNames = {"cuda", "nvidia", "cudart", "libcu", "nvrtc"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return package.find(name) != std::string_view::npos;
  });
}

class DpkgReader {
 public:
  explicit DpkgReader(OwnerSearch& search) : search_(search) {}

  void read() {
    const bool lists = read_folder(kLists, kListEnd);
    const bool sums = read_folder(kStanzas, kSumsEnd);
    if (lists || sums) return;
    const auto status = search_.context().files.stat(kStatus);
    if (status) {
      search_.leave_all_open("dpkg's lists of files are not there, only " + kStatus);
    } else if (status.error().kind != ErrorKind::not_found) {
      search_.leave_all_open(status.error().message);
    }
  }

 private:
  /// True where there is such a database.
  bool read_folder(const std::string& folder, std::string_view end) {
    auto names = search_.list(folder, end);
    if (!names) {
      if (names.error().kind == ErrorKind::not_found) return false;
      search_.leave_all_open(trouble_at(folder, names.error().message));
      return true;
    }
    std::erase_if(*names, [&](const std::string& name) { return !name.ends_with(end); });
    if (names->empty()) return false;
    std::stable_partition(names->begin(), names->end(), is_likely);
    for (const std::string& name : *names) {
      if (search_.is_done()) break;
      if (!is_likely(name)) {
        const auto open = search_.open_system_queries();
        if (!search_.wants_all(open)) {
          for (const std::size_t index : open) search_.leave_open(index, std::string(kOnlyLikely));
          search_.leave_all_open(std::string(kOnlyLikelyThere));
          break;
        }
      }
      const auto text = search_.read(folder + "/" + name);
      if (text) {
        if (!text->empty()) search_.note_system_database();
        take(name.substr(0, name.size() - end.size()), *text, end);
      } else {
        search_.leave_all_open(text.error().message);
        if (text.error().kind == ErrorKind::limit) break;
      }
    }
    return true;
  }

  void take(const std::string& stem, std::string_view text, std::string_view end) {
    if (!search_.may_list(text)) return;
    const KeepPath keep = search_.keep_below("/");
    const auto paths = end == kListEnd ? parse_dpkg_list(text, keep) : parse_dpkg_sums(text, keep);
    if (paths.empty()) return;
    search_.claim(paths, end == kListEnd ? listed_owner(stem) : stanza_owner(stem));
  }

  /// Of PACKAGE.list or PACKAGE:ARCHITECTURE.list.
  FileOwner listed_owner(const std::string& stem) {
    const std::size_t colon = stem.find(':');
    const std::string package = stem.substr(0, colon);
    const std::string machine = colon == std::string::npos ? "" : stem.substr(colon + 1);
    if (!status_) {
      auto text = search_.read(kStatus);
      if (!text) {
        search_.note("versions of Debian packages are not known: " +
                     trouble_at(kStatus, text.error().message));
      }
      status_ = text ? std::move(*text) : std::string();
    }
    const auto stanza = find_dpkg_stanza(*status_, package, machine);
    return {PackageKind::dpkg, package, stanza ? stanza->version : std::string()};
  }

  FileOwner stanza_owner(const std::string& stem) {
    const auto text = search_.read(kStanzas + "/" + stem);
    if (!text) {
      search_.note("the version of Debian package " + escape_foreign(stem) +
                   " is not known: " + text.error().message);
    }
    const auto stanza = text ? find_dpkg_stanza(*text, {}, {}) : std::nullopt;
    if (!stanza) return {PackageKind::dpkg, stem, {}};
    return {PackageKind::dpkg, stanza->package, stanza->version};
  }

  OwnerSearch& search_;
  std::optional<std::string> status_;
};

}  // namespace

void search_dpkg(OwnerSearch& search) {
  if (!search.is_done()) DpkgReader(search).read();
}

}  // namespace cudart_doctor
