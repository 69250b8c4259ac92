#include "cudart_doctor/analyze/file_owner.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

struct Manager {
  std::string_view noun;
  std::string_view reinstall;
  std::string_view upgrade;
  std::string_view remove;
};

/// In the order of PackageKind.
constexpr std::array<Manager, 4> kManagers{{
    {"wheel", "pip install --force-reinstall --no-deps ", "pip install -U ", "pip uninstall "},
    {"conda package", "conda install --force-reinstall ", "conda update ", "conda remove "},
    {"Debian package", "apt-get install --reinstall ", "apt-get install --only-upgrade ",
     "apt-get remove "},
    {"rpm package", "dnf reinstall ", "dnf upgrade ", "dnf remove "},
}};

const Manager& manager_of(const FileOwner& owner) {
  return kManagers[static_cast<std::size_t>(owner.kind)];
}

bool is_plain_word(std::string_view text) {
  constexpr std::string_view kMarks = "+-._:~";
  return !text.empty() && text.front() != '-' && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

/// Directories that package managers fill.
bool is_packages_place(std::string_view path, const PythonFacts& python) {
  for (const std::string_view root : {"/usr/", "/lib/", "/lib32/", "/lib64/"}) {
    if (path.starts_with(root)) return true;
  }
  return split_site_path(path, python).has_value();
}

const FileOwner* known_answer(const Snapshot& snapshot, const std::string& path) {
  const auto found = snapshot.owners.find(path);
  return found == snapshot.owners.end() ? nullptr : found->second.get();
}

}  // namespace

const FileOwner* find_owner(const Snapshot& snapshot, const std::string& path) {
  const FileOwner* answer = known_answer(snapshot, path);
  return answer == nullptr || answer->package.empty() ? nullptr : answer;
}

bool is_unowned(const Snapshot& snapshot, const std::string& path) {
  const FileOwner* answer = known_answer(snapshot, path);
  return answer != nullptr && answer->package.empty() && is_packages_place(path, snapshot.python);
}

std::string package_text(const FileOwner& owner) {
  std::string out = escape_foreign(owner.package);
  if (!owner.version.empty()) out += " " + escape_foreign(owner.version);
  return out;
}

std::string package_phrase(const FileOwner& owner) {
  return std::string(manager_of(owner).noun) + " " + package_text(owner);
}

std::string owner_phrase(const Snapshot& snapshot, const std::string& path) {
  if (const FileOwner* owner = find_owner(snapshot, path)) return package_phrase(*owner);
  return is_unowned(snapshot, path) ? "no package owns it" : "";
}

std::string owner_gap(const Snapshot& snapshot, const std::string& path) {
  const auto found = snapshot.owners.find(path);
  if (found == snapshot.owners.end()) return "not asked for";
  const FileOwner* answer = found->second.get();
  if (answer == nullptr) return "not known: " + found->second.reason();
  return answer->package.empty() ? "nobody: every package record was read, none lists it" : "";
}

std::string owner_sentence(const Snapshot& snapshot, const std::string& path) {
  if (const FileOwner* owner = find_owner(snapshot, path)) {
    return "Owner of " + escape_foreign(path) + ": " + package_phrase(*owner);
  }
  if (!is_unowned(snapshot, path)) return {};
  return "No package owns " + escape_foreign(path) + ": copied, mounted or installed by hand";
}

std::string package_command(const FileOwner& owner, PackageStep step) {
  if (!is_plain_word(owner.package)) return {};
  const Manager& manager = manager_of(owner);
  if (step == PackageStep::upgrade) return std::string(manager.upgrade) + owner.package;
  if (step == PackageStep::remove) return std::string(manager.remove) + owner.package;
  const std::string out = std::string(manager.reinstall) + owner.package;
  // These reinstall what is installed; pip and conda would take the newest.
  if (owner.kind == PackageKind::dpkg || owner.kind == PackageKind::rpm) return out;
  if (!is_plain_word(owner.version)) return {};
  return out + (owner.kind == PackageKind::wheel ? "==" : "=") + owner.version;
}

std::string command_or(const Snapshot& snapshot, const std::string& path, PackageStep step,
                       std::string_view otherwise) {
  const FileOwner* owner = find_owner(snapshot, path);
  std::string command = owner == nullptr ? std::string() : package_command(*owner, step);
  return command.empty() ? std::string(otherwise) : command;
}

}  // namespace cudart_doctor
