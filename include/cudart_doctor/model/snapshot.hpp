// Snapshot: everything that was observed of one process. Three origins (live process, saved
// bundle, test fixture) and one type; after it the target may die. Plain data, no behaviour.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/model/elf_facts.hpp"
#include "cudart_doctor/model/maps.hpp"
#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/model/recording.hpp"

namespace cudart_doctor {

/// What the file behind a mapping is today.
enum class FileState : std::uint8_t {
  unknown,   ///< The path could not be examined; `state_note` says why.
  same,      ///< The path leads to the mapped object.
  deleted,   ///< Marked deleted, and nothing is at the path.
  replaced,  ///< Marked deleted, and another file is at the path now.
  differs,   ///< Not marked, but another device or inode is at the path (overlay, bind mount).
  absent,    ///< Not marked, and nothing is at the path in the target's view.
  memory,    ///< memfd, /dev/zero, SysV shared memory: there never was a path.
};

/// How an object's bytes were reached, best first.
enum class ReadRoute : std::uint8_t {
  none,       ///< Not read.
  map_files,  ///< /proc/PID/map_files/LO-HI: the mapped object itself.
  root_path,  ///< /proc/PID/root + path, checked by device and inode.
  memory,     ///< The loaded image, for ELF facts only.
  fixture,    ///< Given by a test case.
};

/// A slot of an object's global offset table for a name of the CUDA runtime, as it is now.
struct Slot {
  std::string name;
  std::string version;        ///< Version node that the reference is tagged with; "" for none.
  std::uint64_t address = 0;  ///< What the slot holds; 0: unresolved (a weak name).
  bool bound = false;         ///< false: it still points into the object's own PLT.
  std::optional<std::uint32_t> object;  ///< Index into Snapshot::objects of what it points into.
};

/// One file object that is mapped, whatever its names.
struct LoadedObject {
  FileKey key;
  std::vector<std::string> paths;  ///< Distinct paths as bytes, first seen first, mark cut.
  bool marked_deleted = false;     ///< maps shows " (deleted)" and the file is not really so named.
  bool executable =
      false;  ///< Has an executable mapping, or the loader lists it: loaded, not data.
  std::uint64_t lowest = 0;         ///< Lowest mapped address.
  std::vector<std::uint32_t> rows;  ///< Indices into MapsTable::rows.
  FileState state = FileState::unknown;
  std::string state_note;
  std::optional<FileKey> path_now;  ///< What is at the path today, where that is another file.
  std::optional<std::string> path_now_build_id;
  ReadRoute route = ReadRoute::none;
  std::string route_note;  ///< Why a better route was not taken.
  Fact<ElfFacts> elf;
  Fact<ContentScan> content;  ///< Not asked unless the object is a suspect.
  /// Not asked unless the object refers to names of the runtime.
  Fact<std::vector<Slot>> slots;
  /// Facts that only a test case can give: the selection rule whose loader code is in the object.
  std::vector<std::string> uses_rules;

  /// The first path; "" for an object without one.
  [[nodiscard]] const std::string& path() const {
    static const std::string kNone;
    return paths.empty() ? kNone : paths.front();
  }
};

/// One entry of a loader namespace's link map, in load order.
struct LinkEntry {
  std::uint64_t load_bias = 0;          ///< l_addr
  std::string name;                     ///< l_name, as bytes; empty for the main program.
  std::optional<std::uint32_t> object;  ///< Index into Snapshot::objects, where l_ld lies in one.
};

/// A loader namespace (0 is the base; others come from dlmopen).
struct LinkNamespace {
  std::uint32_t id = 0;
  std::vector<LinkEntry> entries;
  std::string note;  ///< What could not be followed ("list broken after 12 entries").
};

enum class EnvironmentOrigin : std::uint8_t { at_exec, live_memory, fixture };

struct Environment {
  EnvironmentOrigin origin = EnvironmentOrigin::at_exec;
  std::string note;  ///< e.g. "overwritten by a process title; read from memory"
  std::vector<std::pair<std::string, std::string>> variables;  ///< In order, first one wins.

  /// The value of `name`, or nullptr when it is not set.
  [[nodiscard]] const std::string* find(std::string_view name) const {
    for (const auto& [key, value] : variables) {
      if (key == name) return &value;
    }
    return nullptr;
  }
};

/// A device file of the NVIDIA driver, as a process sees it: /dev/nvidia0, /dev/nvidiactl, ...
struct DeviceNode {
  std::string path;
  std::uint32_t dev_major = 0;  ///< Of the device, not of its file system.
  std::uint32_t dev_minor = 0;
  std::uint32_t mode = 0;  ///< Permission bits.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

/// What a process may do, as far as it decides whether CUDA and descriptor passing can work.
struct ProcessRights {
  std::vector<std::uint32_t> groups;
  Fact<std::uint64_t> effective;  ///< Capability masks, from status.
  Fact<std::uint64_t> permitted;
  Fact<std::uint64_t> bounding;
  Fact<std::uint32_t> seccomp;  ///< 0 none, 1 strict, 2 filter.
  Fact<std::string> cgroup;     ///< Unified path, or the devices controller's.
  Fact<std::vector<DeviceNode>> device_nodes;
};

/// Another process that the target shares device memory with.
struct PeerFacts {
  std::int64_t pid = 0;
  std::optional<std::uint32_t> uid;
  std::string comm;
  std::vector<std::int64_t> ns_pids;                ///< NSpid, outermost first.
  std::map<std::string, std::uint64_t> namespaces;  ///< "pid" -> inode.
  ProcessRights rights;
  Fact<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES; "" when it is not set.
  std::vector<std::string> uuids;     ///< Visible GPUs, where they are known.
  std::string found_by;               ///< "named with --peer"
};

struct ProcessFacts {
  std::int64_t pid = 0;  ///< As the doctor sees it.
  std::int64_t parent_pid = 0;
  std::uint64_t start_ticks = 0;  ///< Field 22 of stat: clock ticks since boot.
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  std::string comm;                                     ///< Short name, as bytes.
  Fact<std::vector<std::string>> command_line;          ///< argv; or one overwritten title.
  Fact<std::string> executable;                         ///< readlink of exe, in the target's view.
  std::vector<std::int64_t> ns_pids;                    ///< NSpid, outermost first.
  std::map<std::string, std::uint64_t> namespaces;      ///< "mnt" -> inode, of the target.
  std::map<std::string, std::uint64_t> own_namespaces;  ///< The doctor's.
  std::uint32_t threads = 0;
  std::uint32_t children =
      0;             ///< Processes that it started and that are still its own: so many at least.
  std::string libc;  ///< "glibc", "musl", "static" or "" when not seen.
  ProcessRights rights;
  ProcessRights own_rights;  ///< The doctor's.
};

/// One entry of ld.so.cache.
struct LoaderCacheEntry {
  std::string soname;
  std::string path;
  std::uint32_t flags = 0;
  bool hwcap = false;
};

struct LoaderFacts {
  /// Entries of the target's ld.so.cache whose names belong to the CUDA family, in cache order.
  Fact<std::vector<LoaderCacheEntry>> cache;
  /// Answers that a test case gives for a fresh dlopen: name -> path.
  std::map<std::string, std::string> given_searches;
};

enum class DiskKind : std::uint8_t { absent, file, directory, other, unreadable };

/// What a path in the target's view leads to. Keyed by path in Snapshot::disk.
struct DiskEntry {
  DiskKind kind = DiskKind::unreadable;
  std::string note;  ///< The reason for unreadable, what `other` is (FIFO, device).
  FileKey key;
  std::uint64_t size = 0;
  std::string real_path;  ///< After symbolic links, inside the target's root.
  Fact<ElfFacts> elf;
  Fact<ContentScan> content;
  Fact<std::string> text;          ///< Contents, for small text files that were asked for.
  std::vector<std::string> names;  ///< Sorted names in a directory that passed the filter.
};

/// What later steps want to know about a path. `list` keeps names that contain `filter`.
struct DiskRequest {
  enum class Want : std::uint8_t { stat, elf, list, text } want = Want::stat;
  std::string path;
  std::string filter;
  auto operator<=>(const DiskRequest&) const = default;
};

/// InstalledFile::found_by of a library that the user asks about and that is not mapped.
inline constexpr std::string_view kNamedByUser = "named by the user";

/// A file that carries a CUDA library's name and is installed where programs would find it.
struct InstalledFile {
  std::string path;      ///< In the target's view; the facts are in Snapshot::disk[path].
  std::string found_by;  ///< "python environment", "CUDA_HOME", "/usr/local/cuda*", "ld.so.cache".
};

/// A Python distribution: NAME-VERSION.dist-info.
struct PythonDistribution {
  std::string name;  ///< Normalised: lower case, '-' for '_' and '.'.
  std::string version;
  std::string directory;  ///< The site directory that holds it.
};

struct PythonFacts {
  bool is_python = false;                       ///< The target runs a Python interpreter.
  std::vector<std::string> site_directories;    ///< In search order, in the target's view.
  std::vector<std::string> unread_directories;  ///< "PATH: reason"
  std::vector<PythonDistribution> distributions;
  std::string chosen_by;  ///< How the environment was found ("VIRTUAL_ENV", "mapped objects").
};

enum class PackageKind : std::uint8_t { wheel, conda, dpkg, rpm };

/// The package that brought a file.
struct FileOwner {
  PackageKind kind = PackageKind::wheel;
  std::string package;  ///< "" where the package databases were read and none lists the file.
  std::string version;
};

struct HostFacts {
  std::string name;
  std::string kernel;
  Fact<std::string> kernel_module;           ///< NVIDIA kernel module version.
  Fact<int> ptrace_scope;                    ///< Yama, 0 to 3; unknown without Yama.
  std::string no_ipc_sign;                   ///< "WSL2: kernel release ...", Tegra; "".
  std::map<std::string, std::string> given;  ///< `host` lines of a test case.
  /// Codes that a test case says processes reported: "app.reported", "ipc.peer.open".
  std::map<std::string, std::string> given_probe;
};

/// What capture itself did: shown as READ and UNSEEN in the report.
struct CaptureFacts {
  std::string taken_at;  ///< UTC, RFC 3339, seconds.
  std::uint32_t maps_reads = 0;
  bool maps_consistent = true;        ///< The last two looks agreed.
  std::uint32_t objects_read = 0;     ///< Objects with ELF facts (of `objects.size()`).
  std::uint32_t not_elf = 0;          ///< Mapped files that are no ELF (locale archives, fonts).
  std::vector<std::string> unread;    ///< "PATH: reason", one an object.
  std::uint32_t static_searched = 0;  ///< Objects searched for a static runtime.
  std::uint32_t static_skipped = 0;   ///< Loaded objects that were not; --deep would.
  std::vector<std::string> notes;     ///< Other limits of this look, one sentence each.
};

enum class SnapshotOrigin : std::uint8_t { live, self, bundle, fixture };

struct Snapshot {
  SnapshotOrigin origin = SnapshotOrigin::live;
  bool environment_only = false;  ///< "Self": no program was started, only an environment shown.
  std::vector<std::string> self_notes;  ///< What the self child loaded and why.
  ProcessFacts process;
  MapsTable maps;
  std::vector<LoadedObject> objects;  ///< Ascending by lowest address.
  Fact<std::vector<LinkNamespace>> link_map;
  Fact<Environment> environment;
  LoaderFacts loader;
  PythonFacts python;
  std::map<std::string, DiskEntry> disk;
  std::vector<InstalledFile> installed;
  /// By path in the target's view, of files of the CUDA family; unknown: why.
  std::map<std::string, Fact<FileOwner>> owners;
  HostFacts host;
  CaptureFacts capture;
  std::vector<PeerFacts> peers;
  ProbeFacts probe;
  RecordingFact recording;  ///< Of the command that `run` started.
};

/// Processes that the one that is reported of started, and that no look was taken at.
inline std::uint32_t unseen_children(const Snapshot& snapshot) {
  // What a recorded command started is part of its report.
  return snapshot.recording.is_known() ? 0 : snapshot.process.children;
}

}  // namespace cudart_doctor
