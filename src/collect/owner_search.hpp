// The search for owners that all package databases share: which files are asked about, under which
// names, what was found, and how much may be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/formats/package_lists.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// How far a search goes before nobody is said to own a file.
enum class OwnerEffort : std::uint8_t {
  likely,      ///< Packages whose names speak of CUDA or of the file's place.
  exhaustive,  ///< All packages: for what is mapped.
};

/// A file whose owner is sought.
struct OwnerQuery {
  OwnerEffort effort = OwnerEffort::likely;
  std::string path;                   ///< As the snapshot has it.
  std::vector<std::string> names;     ///< Absolute: the path, and where links lead.
  std::optional<FileOwner> owner;     ///< Claimed for good.
  std::optional<FileOwner> fallback;  ///< A record lists it, but another installer made that.
  std::string open_because;           ///< A database that might list it could not be read.
};

class OwnerSearch {
 public:
  OwnerSearch(const CaptureContext& context, const PythonFacts& python);

  void add(const std::string& path, OwnerEffort effort);
  [[nodiscard]] bool is_done() const;
  /// Indices of the queries that nobody has claimed.
  [[nodiscard]] std::vector<std::size_t> open_queries() const;
  /// Those of them that lie where packages of a distribution may put files.
  [[nodiscard]] std::vector<std::size_t> open_system_queries() const;
  [[nodiscard]] const OwnerQuery& query(std::size_t index) const { return queries_[index]; }
  [[nodiscard]] const PythonFacts& python() const { return python_; }

  /// True where an open one of the queries is to be sought among all packages.
  [[nodiscard]] bool wants_all(const std::vector<std::size_t>& queries) const;

  /// False where no open query's file name occurs in the text: then it need not be parsed.
  [[nodiscard]] bool may_list(std::string_view text) const;
  /// The open query of that absolute name.
  [[nodiscard]] std::optional<std::size_t> match(std::string_view absolute) const;
  /// The predicate for names that are relative to `directory` ("/" for absolute ones).
  [[nodiscard]] KeepPath keep_below(const std::string& directory);
  /// The same for names whose owner is known already too.
  [[nodiscard]] KeepPath keep_asked_below(const std::string& directory);
  void claim(const std::vector<std::string>& absolute, const FileOwner& owner);
  void hold(const std::vector<std::string>& absolute, const FileOwner& owner);
  /// What the user should know of the records.
  void note(const std::string& text);
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Another record of the package that owns them lists files too: which of its versions put them
  /// there is not known. True where one was in doubt.
  bool doubt(const std::vector<std::string>& absolute, const FileOwner& other);
  /// A database that might have listed the query was not read.
  void leave_open(std::size_t index, const std::string& why);
  void leave_all_open(const std::string& why);
  /// A database of the whole system lists at least one file.
  void note_system_database() { system_database_ = true; }
  /// True once the time for the whole search is over: what is open then stays open.
  [[nodiscard]] bool is_spent();

  /// Whole contents. Errors: as of TargetFiles; timeout (did not answer before); limit (a large
  /// file, too much in all, no time left).
  [[nodiscard]] Result<std::string> read(const std::string& path);
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& path,
                                                      std::string_view filter) const;
  [[nodiscard]] const CaptureContext& context() const { return context_; }

  /// The answers, by path.
  [[nodiscard]] std::map<std::string, Fact<FileOwner>> take() const;

 private:
  const CaptureContext& context_;
  const PythonFacts& python_;
  std::vector<OwnerQuery> queries_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> by_name_;
  std::set<std::string, std::less<>> base_names_;
  std::set<std::string, std::less<>> stems_;  ///< Of base_names_; none begins with another.
  std::vector<std::string> notes_;
  std::uint64_t bytes_read_ = 0;
  std::chrono::steady_clock::time_point end_;
  bool spent_ = false;
  bool merged_ = false;  ///< /lib is a link to /usr/lib.
  bool system_database_ = false;
};

/// `entry` below `directory`, "." and ".." taken out; an absolute entry stays where it is.
std::string absolute_name(std::string_view directory, std::string_view entry);

/// What is wrong at a path: the message, which may name the path already.
std::string trouble_at(std::string_view path, std::string_view message);

/// Why a file may have an owner that was not found with OwnerEffort::likely.
inline constexpr std::string_view kOnlyLikely =
    "not mapped: only packages whose names speak of CUDA were asked";

/// The same of a file that is mapped.
inline constexpr std::string_view kOnlyLikelyThere =
    "in a directory that is left to users: only packages whose names speak of CUDA were asked";
/// Why the search was given up.
inline constexpr std::string_view kNoTime = "package records were not all read within 2 seconds";

/// Records of wheels: NAME-VERSION.dist-info/RECORD in the site directory that holds the file.
void search_wheels(OwnerSearch& search);
/// PREFIX/conda-meta, of the prefixes that the files lie in.
void search_conda(OwnerSearch& search);
/// /var/lib/dpkg. Diversions are not followed.
void search_dpkg(OwnerSearch& search);
/// rpm's SQLite database.
void search_rpm(OwnerSearch& search);
/// Databases that are not read (pacman, apk and others): where one is, no owner is told.
void search_unread(OwnerSearch& search);

}  // namespace cudart_doctor
