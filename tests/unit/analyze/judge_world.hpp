// World: a process for tests of the judge, told library by library; what is not said is unknown.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/base/text.hpp"
#include "support/given_probe.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

namespace cudart_doctor::test {

inline constexpr std::string_view kSite = "/v/lib/python3.12/site-packages";
inline constexpr std::string_view kReal12 = "/n/cuda_runtime/lib/libcudart.so.12";
inline constexpr std::string_view kOther12 = "/usr/local/cuda/lib64/libcudart.so.12";
inline constexpr std::string_view kReal13 = "/n/cu13/lib/libcudart.so.13";
inline constexpr std::string_view kShim = "/t/tilelang/lib/libcudart_stub.so";

inline SyntheticElf runtime12() { return make_genuine_runtime("libcudart.so.12", "12.8"); }
inline SyntheticElf runtime13() { return make_genuine_runtime("libcudart.so.13", "13.0"); }
inline SyntheticElf shim() { return make_lookalike("libcudart_stub.so", {"cudaDeviceReset"}); }

class World {
 public:
  /// A library, mapped above those before; its file is at the path.
  World& library(std::string_view path, SyntheticElf elf) {
    return mapped(path, "r-xp", std::move(elf));
  }
  /// A file that is mapped as data only.
  World& data(std::string_view path, SyntheticElf elf) {
    return mapped(path, "r--s", std::move(elf));
  }
  /// A line of maps without a file.
  World& pseudo(std::string_view name) {
    maps_.mapping(name, 0, "rw-p");
    return *this;
  }
  /// A library whose contents could not be read.
  World& unread(std::string_view path, std::string reason) {
    mapped(path, "r-xp", make_plain());
    parts_.back().unread = std::move(reason);
    return *this;
  }
  /// What became of the last library's file; `now` is the inode at its path, 0 for none.
  World& file_is(FileState state, std::uint64_t now = 0) {
    parts_.back().state = state;
    parts_.back().now = now;
    return *this;
  }
  /// Another build-id at the last library's path today.
  World& build_now(std::string build_id) {
    parts_.back().build_now = std::move(build_id);
    return *this;
  }
  /// The last library holds a selection rule's loader code.
  World& uses(std::string rule) {
    parts_.back().uses = std::move(rule);
    return *this;
  }
  /// The Python path was read completely; packages that are not named by package() are absent.
  World& python() {
    python_.is_python = true;
    python_.site_directories = {std::string(kSite)};
    return *this;
  }
  World& package(std::string_view name, std::string_view version) {
    python();
    python_.distributions.push_back({std::string(name), std::string(version), std::string(kSite)});
    return *this;
  }
  World& env(std::string_view name, std::string_view value) {
    env_.emplace_back(name, value);
    return *this;
  }
  World& on_disk(std::string_view path, const SyntheticElf& elf) {
    DiskEntry entry = elf_file(5000 + disk_.size(), elf.elf);
    entry.content = Fact<ContentScan>::known(elf.content);
    return on_disk(path, std::move(entry));
  }
  World& on_disk(std::string_view path, DiskEntry entry) {
    disk_.emplace_back(path, std::move(entry));
    return *this;
  }
  World& not_on_disk(std::string_view path) {
    DiskEntry entry;
    entry.kind = DiskKind::absent;
    return on_disk(path, std::move(entry));
  }
  World& named_by_user(std::string_view path, const SyntheticElf& elf) {
    named_.emplace_back(path);
    return on_disk(path, elf);
  }
  /// A fresh load of `name` ends at `path`.
  World& search(std::string_view name, std::string_view path) {
    searches_.emplace_back(name, path);
    return *this;
  }
  World& kernel_module(std::string version) {
    kernel_module_ = std::move(version);
    return *this;
  }
  World& probe(std::string_view name, std::string_view value) {
    probes_.emplace_back(name, value);
    return *this;
  }
  /// Anything else: the last word on the snapshot, in the order told.
  World& with(std::function<void(Snapshot&)> change) {
    changes_.push_back(std::move(change));
    return *this;
  }

  [[nodiscard]] Snapshot snapshot() const {
    Snapshot snapshot = SnapshotBuilder(maps_).build();
    for (const auto& [path, entry] : disk_) snapshot.disk[path] = entry;
    for (LoadedObject& object : snapshot.objects) {
      for (const Part& part : parts_) {
        if (part.inode == object.key.inode) fill(snapshot, object, part);
      }
    }
    snapshot.python = python_;
    if (!env_.empty()) {
      snapshot.environment = Fact<Environment>::known({EnvironmentOrigin::fixture, {}, env_});
    }
    for (const std::string& path : named_) {
      snapshot.installed.push_back({path, std::string(kNamedByUser)});
    }
    for (const auto& [name, path] : searches_) snapshot.loader.given_searches[name] = path;
    if (kernel_module_) snapshot.host.kernel_module = Fact<std::string>::known(*kernel_module_);
    snapshot.capture.objects_read = static_cast<std::uint32_t>(snapshot.objects.size());
    for (const auto& [name, value] : probes_) give_probe(snapshot, name, value);
    for (const auto& change : changes_) change(snapshot);
    return snapshot;
  }
  [[nodiscard]] Report judge(const JudgeOptions& options = {}) const {
    return make_report(snapshot(), options);
  }

 private:
  struct Part {
    std::uint64_t inode = 0;
    SyntheticElf elf;
    std::string unread{};
    FileState state = FileState::same;
    std::uint64_t now = 0;
    std::string build_now{};
    std::string uses{};
  };

  World& mapped(std::string_view path, std::string_view permissions, SyntheticElf elf) {
    const std::uint64_t inode = 100 + parts_.size();
    maps_.mapping(path, inode, permissions);
    parts_.push_back({.inode = inode, .elf = std::move(elf)});
    return *this;
  }

  static void fill(Snapshot& snapshot, LoadedObject& object, const Part& part) {
    object.elf = part.unread.empty() ? Fact<ElfFacts>::known(part.elf.elf)
                                     : Fact<ElfFacts>::unknown(part.unread);
    if (part.unread.empty()) object.content = Fact<ContentScan>::known(part.elf.content);
    object.state = part.state;
    if (part.now != 0) object.path_now = key(part.now);
    if (!part.build_now.empty()) object.path_now_build_id = part.build_now;
    if (!part.uses.empty()) object.uses_rules.push_back(part.uses);
    if (snapshot.disk.contains(object.path())) return;
    DiskEntry& entry = snapshot.disk[object.path()];
    entry.kind = part.state == FileState::same || part.now != 0 ? DiskKind::file : DiskKind::absent;
    entry.key = part.now != 0 ? key(part.now) : object.key;
    entry.real_path = object.path();
    entry.elf = object.elf;
    entry.content = object.content;
  }

  MapsText maps_;
  std::vector<Part> parts_;
  PythonFacts python_;
  std::vector<std::pair<std::string, std::string>> env_;
  std::vector<std::pair<std::string, DiskEntry>> disk_;
  std::vector<std::string> named_;
  std::vector<std::pair<std::string, std::string>> searches_;
  std::optional<std::string> kernel_module_;
  std::vector<std::pair<std::string, std::string>> probes_;
  std::vector<std::function<void(Snapshot&)>> changes_;
};

/// The gravest finding with this id; nullptr where there is none.
inline const Finding* find_finding(const Report& report, std::string_view id) {
  for (const Finding& finding : report.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

/// "absent", "info", "warning", "error" or "critical".
inline std::string severity_of(const Report& report, std::string_view id) {
  const Finding* finding = find_finding(report, id);
  if (finding == nullptr) return "absent";
  switch (finding->severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
    case Severity::critical: return "critical";
  }
  return {};
}

/// One situation and the severity that a finding must have in it.
struct Situation {
  std::string_view name;
  World world;
  std::string_view severity;
};

/// All sentences of a finding, for a look at the words.
inline std::string all_words(const Finding& finding) {
  return finding.headline + "\n" + finding.effect + "\n" + join(finding.evidence, "\n") + "\n" +
         join(finding.fixes, "\n") + "\n" + join(finding.no_help, "\n");
}

inline bool says(const Finding* finding, std::string_view words) {
  return finding != nullptr && all_words(*finding).find(words) != std::string::npos;
}

}  // namespace cudart_doctor::test
