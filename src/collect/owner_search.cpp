#include "owner_search.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxFile = 64U << 20U;
constexpr std::uint64_t kMaxRead = 256U << 20U;
constexpr std::chrono::seconds kMaxTime{2};
constexpr std::size_t kMaxQueries = 4000;
constexpr std::size_t kFewStems = 16;

void add_once(std::vector<std::string>& list, std::string item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

/// Directories that are left to users and to what comes and goes; no distribution's package may put
/// a file there. One that does against the rules is found only where its name speaks of CUDA.
bool is_left_to_users(std::string_view path) {
  constexpr std::array<std::string_view, 8> kRoots = {"/home/",  "/root/", "/tmp/", "/var/tmp/",
                                                      "/media/", "/mnt/",  "/run/", "/dev/"};
  return std::any_of(kRoots.begin(), kRoots.end(),
                     [&](std::string_view root) { return path.starts_with(root); });
}

/// Where Nix, Guix and snap keep packages.
bool is_in_store(std::string_view path) {
  constexpr std::array<std::string_view, 3> kRoots = {"/nix/store/", "/gnu/store/", "/snap/"};
  return std::any_of(kRoots.begin(), kRoots.end(),
                     [&](std::string_view root) { return path.starts_with(root); });
}

/// "libcudart" of "libcudart.so.12"; what begins with a stem that is there adds nothing.
void add_stem(std::set<std::string, std::less<>>& stems, std::string_view name) {
  const std::string stem(name.substr(0, name.find(".so")));
  const auto covers = [](std::string_view a, std::string_view b) { return b.starts_with(a); };
  if (std::any_of(stems.begin(), stems.end(), [&](const auto& s) { return covers(s, stem); })) {
    return;
  }
  std::erase_if(stems, [&](const auto& longer) { return covers(stem, longer); });
  stems.insert(stem);
}

/// Where the directory of a path leads, with the file's own name: the file may be gone.
std::optional<std::string> real_name(const CaptureContext& context, const std::string& path) {
  if (context.is_skipped(path)) return std::nullopt;
  context.progress("find the owner", path);
  if (auto found = context.files.find(path)) {
    if (auto real = context.files.real_path(*found)) return *real;
  }
  const std::string directory(dir_name(path));
  auto found = context.files.find(directory);
  if (!found) return std::nullopt;
  auto real = context.files.real_path(*found);
  if (!real) return std::nullopt;
  return absolute_name(*real, base_name(path));
}

}  // namespace

std::string absolute_name(std::string_view directory, std::string_view entry) {
  std::vector<std::string_view> parts;
  const auto add = [&](std::string_view path) {
    for (const std::string_view part : split(path, '/')) {
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (!parts.empty()) {
        parts.pop_back();
      }
    }
  };
  if (!entry.starts_with('/')) add(directory);
  add(entry);
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

std::string trouble_at(std::string_view path, std::string_view message) {
  const std::string shown = escape_foreign(path);
  return message.starts_with(shown + ":") ? std::string(message)
                                          : shown + ": " + std::string(message);
}

OwnerSearch::OwnerSearch(const CaptureContext& context, const PythonFacts& python)
    : context_(context), python_(python), end_(std::chrono::steady_clock::now() + kMaxTime) {
  const std::string library = "/lib";
  if (context.is_skipped(library)) return;
  context.progress("find the owner", library);
  const auto found = context.files.find(library);
  const auto real = found ? context.files.real_path(*found) : Result<std::string>("");
  merged_ = real && *real == "/usr/lib";
}

void OwnerSearch::add(const std::string& path, OwnerEffort effort) {
  if (!path.starts_with('/')) return;
  const bool known = std::any_of(queries_.begin(), queries_.end(),
                                 [&](const OwnerQuery& query) { return query.path == path; });
  if (known || queries_.size() >= kMaxQueries) return;
  OwnerQuery query;
  query.path = path;
  query.effort = effort;
  query.names = {path};
  if (auto real = real_name(context_, path)) {
    add_once(query.names, absolute_name("/", path));
    add_once(query.names, std::move(*real));
  } else {
    query.open_because = escape_foreign(path) + " could not be followed";
  }
  if (std::any_of(query.names.begin(), query.names.end(), is_in_store)) {
    query.open_because = "in a store of packages whose records are not read";
  }
  // Packages built before the file systems were merged list /lib/..., where /usr/lib/... is.
  const auto names = merged_ ? query.names : std::vector<std::string>();
  for (const std::string& name : names) {
    if (name.starts_with("/usr/lib") || name.starts_with("/usr/bin")) {
      add_once(query.names, name.substr(4));
    } else if (name.starts_with("/lib") || name.starts_with("/bin")) {
      add_once(query.names, "/usr" + name);
    }
  }
  for (const std::string& name : query.names) {
    by_name_[name].push_back(queries_.size());
    base_names_.emplace(base_name(name));
    add_stem(stems_, base_name(name));
  }
  queries_.push_back(std::move(query));
}

std::vector<std::size_t> OwnerSearch::open_queries() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < queries_.size(); ++i) {
    if (!queries_[i].owner) out.push_back(i);
  }
  return out;
}

std::vector<std::size_t> OwnerSearch::open_system_queries() const {
  std::vector<std::size_t> out = open_queries();
  std::erase_if(out, [&](std::size_t index) {
    const auto& names = queries_[index].names;
    return std::all_of(names.begin(), names.end(), is_left_to_users);
  });
  return out;
}

bool OwnerSearch::is_done() const {
  return std::all_of(queries_.begin(), queries_.end(),
                     [](const OwnerQuery& query) { return query.owner.has_value(); });
}

bool OwnerSearch::wants_all(const std::vector<std::size_t>& queries) const {
  return std::any_of(queries.begin(), queries.end(), [&](std::size_t index) {
    return !queries_[index].owner && queries_[index].effort == OwnerEffort::exhaustive;
  });
}

bool OwnerSearch::may_list(std::string_view text) const {
  if (stems_.size() > kFewStems) return true;
  return std::any_of(stems_.begin(), stems_.end(), [&](const std::string& name) {
    return ::memmem(text.data(), text.size(), name.data(), name.size()) != nullptr;
  });
}

std::optional<std::size_t> OwnerSearch::match(std::string_view absolute) const {
  const auto found = by_name_.find(absolute);
  if (found == by_name_.end()) return std::nullopt;
  for (const std::size_t index : found->second) {
    if (!queries_[index].owner) return index;
  }
  return std::nullopt;
}

KeepPath OwnerSearch::keep_below(const std::string& directory) {
  return [this, directory](std::string_view path) {
    // A record may list a name a million times.
    return base_names_.contains(base_name(path)) && !is_spent() &&
           match(absolute_name(directory, path)).has_value();
  };
}

KeepPath OwnerSearch::keep_asked_below(const std::string& directory) {
  return [this, directory](std::string_view path) {
    return base_names_.contains(base_name(path)) && !is_spent() &&
           by_name_.contains(absolute_name(directory, path));
  };
}

bool OwnerSearch::is_spent() {
  if (!spent_ && std::chrono::steady_clock::now() >= end_) {
    spent_ = true;
    leave_all_open(std::string(kNoTime));
  }
  return spent_;
}

void OwnerSearch::claim(const std::vector<std::string>& absolute, const FileOwner& owner) {
  for (const std::string& name : absolute) {
    while (const auto index = match(name)) queries_[*index].owner = owner;
  }
}

void OwnerSearch::hold(const std::vector<std::string>& absolute, const FileOwner& owner) {
  for (const std::string& name : absolute) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    for (const std::size_t index : found->second) {
      if (!queries_[index].fallback) queries_[index].fallback = owner;
    }
  }
}

void OwnerSearch::note(const std::string& text) { add_once(notes_, text); }

bool OwnerSearch::doubt(const std::vector<std::string>& absolute, const FileOwner& other) {
  bool any = false;
  for (const std::string& name : absolute) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    for (const std::size_t index : found->second) {
      for (auto* owner : {&queries_[index].owner, &queries_[index].fallback}) {
        if (!*owner || (*owner)->kind != other.kind || (*owner)->package != other.package ||
            (*owner)->version == other.version || (*owner)->version.empty()) {
          continue;
        }
        note(escape_foreign(queries_[index].path) + ": records of " +
             escape_foreign(other.package) + " " + escape_foreign((*owner)->version) + " and " +
             escape_foreign(other.version) + " both list it");
        (*owner)->version.clear();
        any = true;
      }
    }
  }
  return any;
}

void OwnerSearch::leave_open(std::size_t index, const std::string& why) {
  if (queries_[index].open_because.empty()) queries_[index].open_because = why;
}

void OwnerSearch::leave_all_open(const std::string& why) {
  for (const std::size_t index : open_queries()) leave_open(index, why);
}

Result<std::string> OwnerSearch::read(const std::string& path) {
  if (context_.is_skipped(path)) {
    return fail(ErrorKind::timeout, escape_foreign(path) + ": " + std::string(kNoAnswer));
  }
  if (is_spent()) return fail(ErrorKind::limit, std::string(kNoTime));
  if (bytes_read_ > kMaxRead) {
    return fail(ErrorKind::limit, "package records beyond 256 MiB were not read");
  }
  context_.progress("read package records", path);
  const auto found = context_.files.find(path);
  if (!found) return tl::unexpected(found.error());
  if (found->info.size > kMaxFile) {
    return fail(ErrorKind::limit, escape_foreign(path) + ": larger than 64 MiB");
  }
  const auto file = context_.files.open_regular(*found, path);
  if (!file) return tl::unexpected(file.error());
  auto text = read_descriptor(file->fd.get(), path, kMaxFile);
  // What fails on the way may have been read nearly whole, whatever size it told.
  bytes_read_ += text ? text->size() : kMaxFile;
  return text;
}

Result<std::vector<std::string>> OwnerSearch::list(const std::string& path,
                                                   std::string_view filter) const {
  return list_directory(context_, path, filter);
}

std::map<std::string, Fact<FileOwner>> OwnerSearch::take() const {
  using Answer = Fact<FileOwner>;
  std::map<std::string, Answer> out;
  for (const OwnerQuery& query : queries_) {
    const auto& owner = query.owner ? query.owner : query.fallback;
    if (owner) {
      out.emplace(query.path, Answer::known(*owner));
    } else if (!query.open_because.empty()) {
      out.emplace(query.path, Answer::unknown(query.open_because));
    } else if (!system_database_) {
      out.emplace(query.path,
                  Answer::unknown("dpkg's and rpm's databases are not there, or list nothing"));
    } else {
      out.emplace(query.path, Answer::known({}));
    }
  }
  return out;
}

}  // namespace cudart_doctor
