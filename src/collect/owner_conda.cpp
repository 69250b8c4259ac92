// conda: PREFIX/conda-meta/NAME-VERSION-BUILD.json lists each package's files, relative to PREFIX.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

bool is_likely(std::string_view file) {
  constexpr std::array<std::string_view, 8> kNames = {
      "cuda-", "cudatoolkit", "libcu", "libnv", "cudnn", "nccl", "pytorch", "libtorch"};
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return file.starts_with(name); });
}

/// The prefixes of a path's parents that hold conda-meta, innermost first.
std::vector<std::string> prefixes_of(const OwnerSearch& search, std::string_view path,
                                     std::map<std::string, bool, std::less<>>& known) {
  constexpr std::size_t kMaxParents = 24;
  std::vector<std::string> out;
  std::string_view directory = dir_name(path);
  for (std::size_t i = 0; i < kMaxParents && directory.size() > 1; ++i) {
    auto place = known.find(directory);
    if (place == known.end()) {
      const std::string meta = std::string(directory) + "/conda-meta";
      // A folder that does not answer may be one.
      bool is_one = search.context().is_skipped(meta);
      if (!is_one) {
        search.context().progress("find the owner", meta);
        const auto info = search.context().files.stat(meta);
        is_one = info ? info->is_directory() : info.error().kind != ErrorKind::not_found;
      }
      place = known.emplace(std::string(directory), is_one).first;
    }
    if (place->second) out.emplace_back(directory);
    directory = dir_name(directory);
  }
  return out;
}

void search_prefix(OwnerSearch& search, const std::string& prefix,
                   const std::vector<std::size_t>& queries) {
  const auto leave_open = [&](const std::string& why) {
    for (const std::size_t index : queries) search.leave_open(index, why);
  };
  const std::string directory = prefix + "/conda-meta";
  auto names = search.list(directory, ".json");
  if (!names) return leave_open(trouble_at(directory, names.error().message));
  std::stable_partition(names->begin(), names->end(), is_likely);
  for (const std::string& name : *names) {
    const bool any_open = std::any_of(queries.begin(), queries.end(), [&](std::size_t index) {
      return !search.query(index).owner;
    });
    if (!any_open) return;
    if (!is_likely(name) && !search.wants_all(queries)) {
      return leave_open(std::string(kOnlyLikely));
    }
    const auto text = search.read(directory + "/" + name);
    if (!text) {
      leave_open(text.error().message);
      continue;
    }
    if (!search.may_list(*text)) continue;
    auto record = parse_conda_meta(*text, search.keep_below(prefix));
    if (!record) {
      leave_open(escape_foreign(directory + "/" + name) + ": " + record.error().message);
      continue;
    }
    for (std::string& path : record->paths) path = absolute_name(prefix, path);
    search.claim(record->paths, {PackageKind::conda, record->name, record->version});
  }
}

}  // namespace

void search_conda(OwnerSearch& search) {
  std::map<std::string, bool, std::less<>> known;
  std::map<std::string, std::vector<std::size_t>> prefixes;
  for (const std::size_t index : search.open_queries()) {
    if (search.is_spent()) break;
    for (const std::string& name : search.query(index).names) {
      for (std::string& prefix : prefixes_of(search, name, known)) {
        prefixes[std::move(prefix)].push_back(index);
      }
    }
  }
  // The innermost of nested prefixes comes last in order, and is the one that has the file.
  for (auto place = prefixes.rbegin(); place != prefixes.rend(); ++place) {
    search_prefix(search, place->first, place->second);
  }
}

}  // namespace cudart_doctor
