// cuda-pathfinder, by which cuda-bindings, CuPy and others open the runtime: what is loaded first,
// then wheels and Conda, then the loader's own search, then the toolkit that a variable names.
#include <algorithm>
#include <array>

#include "analyze/policies/pathfinder_search.hpp"
#include "analyze/site_path.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 1> kBinds = {"cudaRuntimeGetVersion"};

constexpr std::array<std::string_view, 2> kTwo = {"libcudart.so.13", "libcudart.so.12"};
constexpr std::array<std::string_view, 3> kThree = {"libcudart.so.13", "libcudart.so.12",
                                                    "libcudart.so"};
constexpr std::array<std::string_view, 4> kFour = {"libcudart.so.13", "libcudart.so.12",
                                                   "libcudart.so.11.0", "libcudart.so"};
constexpr std::array<std::string_view, 3> kRising = {"libcudart.so.11.0", "libcudart.so.12",
                                                     "libcudart.so.13"};
constexpr std::array<std::string_view, 1> kBare = {"libcudart.so"};
constexpr std::array<std::string_view, 2> kFolders = {"nvidia/cu13/lib", "nvidia/cuda_runtime/lib"};
constexpr std::array<std::string_view, 2> kFalling = {"nvidia/cuda_runtime/lib", "nvidia/cu13/lib"};
constexpr std::array<std::string_view, 2> kPathFirst = {"CUDA_PATH", "CUDA_HOME"};
constexpr std::array<std::string_view, 2> kHomeFirst = {"CUDA_HOME", "CUDA_PATH"};

constexpr std::array<PathfinderVintage, 4> kVintages = {{
    {kTwo, kTwo, kFolders, FileChoice::sonames, kPathFirst, true,
     "libcudart.so.13 or libcudart.so.12"},
    {kThree, kThree, kFolders, FileChoice::newest, kPathFirst, true, "libcudart.so"},
    {kFour, kFour, kFolders, FileChoice::oldest, kHomeFirst, true, "libcudart.so"},
    // nvidia/*/lib, of which only these two hold a runtime; a folder's entries are tried backwards.
    {kRising, kBare, kFalling, FileChoice::oldest, kHomeFirst, false, "libcudart.so"},
}};

bool is_here(const Snapshot& snapshot) {
  return find_distribution(snapshot.python, "cuda-pathfinder") != nullptr;
}

/// Who would call it here, in one sentence.
std::string callers(const Snapshot& snapshot) {
  std::vector<std::string> names;
  for (const PythonDistribution& each : snapshot.python.distributions) {
    if (each.name == "cuda-bindings" || each.name == "cuda-core" || each.name == "numba-cuda" ||
        each.name.starts_with("cupy")) {
      names.push_back(escape_foreign(each.name + " " + each.version));
    }
  }
  return names.empty() ? "no package that is known to call it" : "for " + join(names, ", ");
}

class Finder {
 public:
  Finder(const Policy& policy, const Snapshot& snapshot, const PathfinderVintage& vintage)
      : policy_(policy), snapshot_(snapshot), vintage_(vintage) {
    log_.add("cuda-pathfinder", StepVerdict::noted, callers(snapshot));
  }

  Selection run() {
    if (try_loaded()) return finish();
    const PathfinderHit early = find_early(snapshot_, vintage_, log_);
    keep(early.doubts);
    if (!early.path.empty()) return open(early.path);
    for (const std::string_view name : vintage_.system_names) {
      if (try_system(name)) return finish();
    }
    const PathfinderHit late = find_late(snapshot_, vintage_, log_);
    keep(late.doubts);
    if (!late.path.empty()) return open(late.path);
    selection_ = not_applicable(policy_, "found nowhere");
    selection_.outcome = Outcome::not_found;
    selection_.error_type = "DynamicLibNotFoundError";
    selection_.error_text = "Failure finding \"" + std::string(vintage_.searched_for) + "\"";
    return finish();
  }

 private:
  /// RTLD_NOLOAD: a loaded object by name or soname, or the file that a search would end at.
  bool try_loaded() {
    for (const std::string_view name : vintage_.loaded_names) {
      LoaderAnswer answer = simulate_dlopen(snapshot_, {name, ctypes_caller(snapshot_)});
      if (answer.outcome == Outcome::undetermined) {
        log_.add(name, StepVerdict::noted, "whether it is loaded is not known: " + answer.note);
        keep(answer.possible);
        continue;
      }
      if (answer.outcome != Outcome::selected || answer.open != OpenOutcome::old_object) {
        log_.add(name, StepVerdict::rejected, "not loaded (RTLD_NOLOAD)");
        continue;
      }
      log_.add(name, StepVerdict::taken, "loaded (RTLD_NOLOAD): files are not looked at");
      take(name, std::move(answer));
      return true;
    }
    return false;
  }

  bool try_system(std::string_view name) {
    LoaderAnswer answer = simulate_dlopen(snapshot_, {name, ctypes_caller(snapshot_)});
    if (answer.outcome == Outcome::not_found) {
      log_.add(name, StepVerdict::rejected, "the loader finds none");
      return false;
    }
    if (answer.outcome == Outcome::undetermined) {
      keep(answer.possible);
      return false;
    }
    log_.append(answer.steps);
    take(name, std::move(answer));
    return true;
  }

  void take(std::string_view name, LoaderAnswer answer) {
    selection_ = from_loader_answer(policy_, snapshot_, std::move(answer));
    selection_.chosen_text = std::string(name);
    selection_.steps.clear();
  }

  Selection open(const std::string& path) {
    selection_ = not_applicable(policy_, {});
    selection_.outcome = Outcome::selected;
    selection_.chosen_text = path;
    open_and_bind(policy_, snapshot_, selection_);
    log_.add(path, StepVerdict::taken, "opened RTLD_GLOBAL: its names join the global scope");
    if (selection_.open == OpenOutcome::fails) selection_.error_type = "RuntimeError";
    return finish();
  }

  void keep(const std::vector<std::string>& doubts) {
    doubts_.insert(doubts_.end(), doubts.begin(), doubts.end());
  }

  /// What stands behind a place that could not be looked into is one answer of several.
  Selection finish() {
    if (!doubts_.empty()) {
      const std::string reached = selection_.chosen_text;
      selection_ = not_applicable(policy_, "not all places that come earlier are known");
      selection_.outcome = Outcome::undetermined;
      selection_.open = OpenOutcome::unknown;
      std::sort(doubts_.begin(), doubts_.end());
      doubts_.erase(std::unique(doubts_.begin(), doubts_.end()), doubts_.end());
      selection_.possible = doubts_;
      if (!reached.empty()) selection_.possible.push_back(reached);
    }
    selection_.steps = log_.take();
    return std::move(selection_);
  }

  const Policy& policy_;
  const Snapshot& snapshot_;
  const PathfinderVintage& vintage_;
  Selection selection_;
  StepLog log_;
  std::vector<std::string> doubts_;
};

template <std::size_t kIndex>
Selection decide(const Policy& policy, const PolicyInput& input) {
  if (!is_here(input.snapshot)) return not_applicable(policy, "no sign of cuda-pathfinder");
  return Finder(policy, input.snapshot, kVintages[kIndex]).run();
}

template <std::size_t kIndex>
std::vector<DiskRequest> wanted(const Snapshot& snapshot) {
  if (!is_here(snapshot)) return {};
  std::vector<DiskRequest> out = wanted_by_pathfinder(snapshot, kVintages[kIndex]);
  for (const std::string_view name : kVintages[kIndex].loaded_names) {
    for (auto& more : wanted_by_dlopen(snapshot, {name, ctypes_caller(snapshot)})) {
      out.push_back(std::move(more));
    }
  }
  return out;
}

struct Text {
  std::string_view id;
  std::string_view title;
  std::string_view vintage;
  std::string_view source;
  std::string_view summary;
};

template <std::size_t kIndex>
Policy row(const Text& text) {
  return {.id = text.id,
          .consumer = "cuda-pathfinder",
          .title = text.title,
          .vintage = text.vintage,
          .source = text.source,
          .summary = text.summary,
          .bound_names = kBinds,
          .current = kIndex == 0,
          .wanted = wanted<kIndex>,
          .decide = decide<kIndex>};
}

}  // namespace

std::vector<Policy> pathfinder_policies() {
  return {
      row<0>({"cuda-pathfinder", "cuda-pathfinder 1.8+", "1.8.0 (2026) and later",
              "wheels 1.8.0 to 1.9.1",
              "what is loaded as libcudart.so.13, .12; else that file in nvidia/cu13/lib, "
              "nvidia/cuda_runtime/lib, CONDA_PREFIX; else the loader's search; else CUDA_PATH, "
              "CUDA_HOME; opened RTLD_GLOBAL"}),
      row<1>({"cuda-pathfinder-1.5", "cuda-pathfinder 1.5-1.7", "1.5.0 to 1.7.0",
              "wheels 1.5.0 to 1.7.0",
              "as 1.8, and the bare name libcudart.so last; on disk libcudart.so, else the "
              "greatest name that begins so"}),
      row<2>({"cuda-pathfinder-1.2", "cuda-pathfinder 1.2-1.4", "1.2.0 (2025) to 1.4.4",
              "wheels 1.2.0 to 1.4.4",
              "as 1.5, libcudart.so.11.0 before the bare name (to 1.3); CUDA_HOME before "
              "CUDA_PATH; on disk libcudart.so, else the smallest name that begins so"}),
      row<3>({"cuda-pathfinder-1.0", "cuda-pathfinder 1.0-1.1", "1.0.0 and 1.1.0 (2025)",
              "wheels 1.0.0 and 1.1.0",
              "what is loaded as libcudart.so.11.0, .12, .13; else the packages of nvidia; else "
              "dlopen of "
              "libcudart.so; else CUDA_HOME, CUDA_PATH"}),
  };
}

}  // namespace cudart_doctor
