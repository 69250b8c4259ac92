// Presence by mapped objects, by what stands on the target's Python path, by the command line.
// "Not seen" becomes "absent" only where that path was read completely, or where nothing runs
// Python.
#include "cudart_doctor/analyze/consumers.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "consumer_presence.hpp"
#include "consumer_vintage.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "runtime_signs.hpp"
#include "site_path.hpp"
#include "tilelang_shim.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<KnownConsumer, 12> kKnown = {{
    {"vllm",
     "vLLM",
     "vllm",
     "vllm",
     "VLLM::",
     {"vllm/"},
     {"vllm/distributed/device_communicators/cuda_wrapper.py", "vllm/utils/system_utils.py"}},
    {"sglang",
     "SGLang",
     "sglang",
     "sglang",
     "sglang::",
     {"sglang/", "sgl_kernel/"},
     {"sglang/srt/distributed/device_communicators/cuda_wrapper.py"}},
    {"flashinfer",
     "FlashInfer",
     "flashinfer-python",
     "flashinfer",
     {},
     {"flashinfer/", "flashinfer_jit_cache/", "flashinfer_cubin/"},
     {"flashinfer/comm/cuda_ipc.py"}},
    {"tilelang", "TileLang", "tilelang", "tilelang", {}, {"tilelang/"}, {}},
    {"torch", "PyTorch", "torch", "torch", {}, {"torch/lib/libtorch", "torch/_C."}, {}},
    {"cudnn-frontend",
     "cudnn-frontend",
     "nvidia-cudnn-frontend",
     "cudnn",
     {},
     {"cudnn/_compiled_module"},
     {}},
    {"cuda-pathfinder",
     "cuda-pathfinder",
     "cuda-pathfinder",
     "cuda.pathfinder",
     {},
     {"cuda/pathfinder/"},
     {}},
    {"cuda-bindings",
     "cuda-bindings",
     "cuda-bindings",
     "cuda.bindings",
     {},
     {"cuda/bindings/"},
     {}},
    {"cupy",
     "CuPy",
     "cupy",
     "cupy",
     {},
     {"cupy/", "cupy_backends/"},
     {},
     {"cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x"}},
    {"numba-cuda", "numba-cuda", "numba-cuda", "numba_cuda", {}, {"numba_cuda/"}, {}},
    {"torch-memory-saver",
     "torch_memory_saver",
     "torch-memory-saver",
     "torch_memory_saver",
     {},
     {"torch_memory_saver_hook", "torch_memory_saver/"},
     {}},
    {"sglang-kernel",
     "sglang-kernel",
     "sglang-kernel",
     "sgl_kernel",
     {},
     {"sgl_kernel/"},
     {"sgl_kernel/load_utils.py", "sgl_kernel/__init__.py"},
     {"sgl-kernel"}},
}};

/// ".../comm/cuda_ipc.py": the last two components, printable.
std::string tail(std::string_view path) {
  const std::size_t last = path.rfind('/');
  const std::size_t before =
      last == std::string_view::npos || last == 0 ? last : path.rfind('/', last - 1);
  if (before == std::string_view::npos) return shown(path);
  return "..." + shown(path.substr(before));
}

/// What is looked up once for all consumers.
struct Seen {
  std::vector<const LoadedObject*> mapped;  ///< One for each of kKnown, or nullptr.
  /// Directories that may hold the packages: the Python path, and checkouts that objects come from.
  std::vector<std::string> roots;
};

Seen look_around(const Snapshot& snapshot) {
  Seen seen{find_mapped(kKnown, snapshot), snapshot.python.site_directories};
  for (std::size_t i = 0; i < kKnown.size(); ++i) {
    const LoadedObject* object = seen.mapped[i];
    if (object == nullptr || split_site_path(object->path(), snapshot.python)) continue;
    if (extension_folder(object->path()) == kKnown[i].module) {
      seen.roots.emplace_back(dir_name(dir_name(object->path())));
    }
  }
  return seen;
}

const std::string* known_text(const Snapshot& snapshot, const std::string& path) {
  const auto at = snapshot.disk.find(path);
  return at == snapshot.disk.end() ? nullptr : at->second.text.get();
}

struct Source {
  std::string path;
  const std::string* search = nullptr;
  const std::string* list = nullptr;
};

/// The first file on the Python path that defines the consumer's search.
std::optional<Source> find_source(const KnownConsumer& known, const Snapshot& snapshot,
                                  const std::vector<std::string>& roots) {
  for (const std::string& root : roots) {
    for (std::string_view file : known.sources) {
      if (file.empty()) continue;
      const std::string path = root + "/" + std::string(file);
      const std::string* text = known_text(snapshot, path);
      if (text == nullptr || !defines_rule(known.id, *text)) continue;
      const std::string* list =
          known_text(snapshot, root + "/" + std::string(known.sources.front()));
      return Source{path, text, list != nullptr ? list : text};
    }
  }
  return std::nullopt;
}

void read_shim_vintage(Consumer& consumer, const Snapshot& snapshot) {
  for (const LoadedObject& object : snapshot.objects) {
    const ElfFacts* elf = object.elf.get();
    if (elf == nullptr || !has_marker(object.content.get(), "cudart symbols not found")) continue;
    const TilelangShim shim = inspect_tilelang_shim(object.path(), *elf, object.content.get());
    if (!shim.is_shim || shim.groups == 0) continue;
    if (shim.groups == kTilelang018)
      consumer.vintage = "tilelang-stub-0.1.8";
    else if (shim.groups == kTilelang019)
      consumer.vintage = "tilelang-stub-0.1.9";
    else if ((shim.groups & (kTilelang018 | kTilelang019)) == 0)
      consumer.vintage = "tilelang-stub";
    if (!consumer.vintage.empty()) consumer.vintage_from = "text of " + tail(object.path());
    return;
  }
}

void read_front_end_vintage(Consumer& consumer, const LoadedObject& object) {
  const bool has_override = has_marker(object.content.get(), "CUDNN_FRONTEND_CUDART_LIB_NAME");
  const bool has_error = has_marker(object.content.get(), "libcudart libraries found") ||
                         has_marker(object.content.get(), "Unable to load any libcudart");
  if (!has_override && !has_error) return;
  consumer.vintage = has_override ? "cudnn-frontend-2026-06" : "cudnn-frontend";
  consumer.vintage_from = "text of " + tail(object.path());
}

void fill_vintage(Consumer& consumer, const KnownConsumer& known, const Snapshot& snapshot,
                  const std::optional<Source>& source) {
  if (source) {
    consumer.vintage = vintage_of_text(known.id, {*source->search, *source->list});
    consumer.vintage_from =
        (consumer.vintage.empty() ? "unknown text of " : "text of ") + tail(source->path);
    return;
  }
  if (known.id == "tilelang") read_shim_vintage(consumer, snapshot);
  if (known.id == "cudnn-frontend") {
    if (const LoadedObject* object = find_front_end(snapshot))
      read_front_end_vintage(consumer, *object);
  }
  if (!consumer.vintage.empty()) return;
  consumer.vintage = vintage_of_version(known.id, consumer.version);
  if (!consumer.vintage.empty())
    consumer.vintage_from = "version " + escape_foreign(consumer.version);
  if (known.id == "torch" && consumer.presence == Presence::present) consumer.vintage = "torch-elf";
}

/// Under its name, else under one of the others.
const PythonDistribution* find_package(const PythonFacts& python, const KnownConsumer& known) {
  const PythonDistribution* found = find_distribution(python, known.distribution);
  for (const std::string_view name : known.other_distributions) {
    if (found == nullptr && !name.empty()) found = find_distribution(python, name);
  }
  return found;
}

bool python_path_was_read(const Snapshot& snapshot) {
  return (snapshot.python.is_python || snapshot.environment_only) &&
         !snapshot.python.site_directories.empty() && snapshot.python.unread_directories.empty();
}

/// A name that only a process with a Python interpreter maps: the interpreter or an extension
/// module.
bool is_sign_of_python(std::string_view path) {
  const std::string_view base = base_name(path);
  return base.starts_with("python") || base.starts_with("pypy") || base.starts_with("libpython") ||
         base.starts_with("libpypy") || !extension_folder(path).empty() ||
         path.find("/lib-dynload/") != std::string_view::npos ||
         path.find("-packages/") != std::string_view::npos;
}

/// All that could be an interpreter was looked at, and none is. A test case names few objects: what
/// it leaves out says nothing.
bool has_no_interpreter(const Snapshot& snapshot) {
  const std::string* executable = snapshot.process.executable.get();
  if (snapshot.origin == SnapshotOrigin::fixture || snapshot.environment_only ||
      snapshot.python.is_python || executable == nullptr || is_sign_of_python(*executable) ||
      base_link_map(snapshot) == nullptr || count_unread_libraries(snapshot) > 0) {
    return false;
  }
  return std::none_of(
      snapshot.objects.begin(), snapshot.objects.end(), [](const LoadedObject& object) {
        return object.executable &&
               std::any_of(object.paths.begin(), object.paths.end(), is_sign_of_python);
      });
}

/// Its search is Python code; others have theirs in a library that runs without an interpreter.
bool is_python_code(const KnownConsumer& known) { return !known.sources.front().empty(); }

Consumer look_for(std::size_t index, const Snapshot& snapshot, const Seen& seen) {
  const KnownConsumer& known = kKnown[index];
  Consumer consumer;
  consumer.id = std::string(known.id);
  consumer.name = std::string(known.name);
  if (const LoadedObject* object = seen.mapped[index]) {
    consumer.signs.push_back("mapped " + tail(object->path()));
  } else if (known.id == "cudnn-frontend") {
    if (const LoadedObject* front_end = find_front_end(snapshot)) {
      consumer.signs.push_back("its loader is in " + tail(front_end->path()));
    }
  }
  if (const auto* distribution = find_package(snapshot.python, known)) {
    consumer.version = distribution->version;
    consumer.signs.push_back(shown(distribution->name + "-" + distribution->version) +
                             ".dist-info");
  }
  const auto source = find_source(known, snapshot, seen.roots);
  if (source) {
    consumer.signs.push_back("source " + tail(source->path));
  }
  if (is_in_command_line(known, snapshot)) consumer.signs.emplace_back("command line");

  if (!consumer.signs.empty())
    consumer.presence = Presence::present;
  else if (python_path_was_read(snapshot) ||
           (is_python_code(known) && has_no_interpreter(snapshot)))
    consumer.presence = Presence::absent;
  fill_vintage(consumer, known, snapshot, source);
  return consumer;
}

}  // namespace

std::vector<DiskRequest> wanted_by_consumers(const Snapshot& snapshot) {
  std::set<DiskRequest> wanted;
  for (const std::string& root : look_around(snapshot).roots) {
    for (const KnownConsumer& known : kKnown) {
      for (std::string_view file : known.sources) {
        if (file.empty()) continue;
        wanted.insert({DiskRequest::Want::text, root + "/" + std::string(file), {}});
      }
    }
  }
  return {wanted.begin(), wanted.end()};
}

std::vector<Consumer> find_consumers(const Snapshot& snapshot) {
  const Seen seen = look_around(snapshot);
  std::vector<Consumer> consumers;
  consumers.reserve(kKnown.size());
  for (std::size_t i = 0; i < kKnown.size(); ++i) consumers.push_back(look_for(i, snapshot, seen));
  return consumers;
}

}  // namespace cudart_doctor
