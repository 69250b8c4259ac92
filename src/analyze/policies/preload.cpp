// Packages that open a runtime RTLD_GLOBAL when they are imported. They bind nothing themselves;
// from then on the names of what they opened are found in the global scope, by everybody.
#include <algorithm>
#include <array>

#include "analyze/site_path.hpp"
#include "analyze/torch_build.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kToolkit = "/usr/local/cuda";
constexpr std::string_view kTargetFile = "/usr/local/cuda/targets/x86_64-linux/lib/libcudart.so.12";
constexpr std::string_view kJitVariable = "CUDA_LIB_PATH";
constexpr std::string_view kGlobalNote = "opened RTLD_GLOBAL: changes who wins in the global scope";

/// A package is here when it is installed, or an object of it is mapped.
struct Package {
  std::array<std::string_view, 2> distributions;
  std::string_view folder;
};
constexpr Package kFlashinfer = {{"flashinfer-python", ""}, "/flashinfer/"};
constexpr Package kSglKernel = {{"sglang-kernel", "sgl-kernel"}, "/sgl_kernel/"};

bool is_here(const Package& package, const Snapshot& snapshot) {
  for (const std::string_view name : package.distributions) {
    if (!name.empty() && find_distribution(snapshot.python, name) != nullptr) return true;
  }
  return std::any_of(snapshot.objects.begin(), snapshot.objects.end(), [&](const auto& object) {
    return object.executable && object.path().find(package.folder) != std::string::npos;
  });
}

/// What an open failure does.
enum class OnFailure : bool { raises, goes_on };

/// Files that are tried in turn: the first that is there and opens is taken.
class Preload {
 public:
  Preload(const Policy& policy, const Snapshot& snapshot, OnFailure on_failure)
      : policy_(policy), snapshot_(snapshot), on_failure_(on_failure) {}

  void note(std::string_view subject, std::string_view reason) {
    log_.add(subject, StepVerdict::noted, reason);
  }
  void doubt(std::string what) { doubts_.push_back(std::move(what)); }

  /// True when the search ends here.
  bool try_file(const std::string& path) {
    const FileNow now = file_now(snapshot_, path);
    if (now.state == FileNow::State::unknown) {
      note(path, "not known: " + escape_foreign(now.note));
      doubts_.push_back(path);
      return false;
    }
    if (now.state == FileNow::State::absent) {
      log_.add(path, StepVerdict::rejected, "not there");
      return false;
    }
    Selection opened = not_applicable(policy_, {});
    opened.outcome = Outcome::selected;
    opened.chosen_text = path;
    open_and_bind(policy_, snapshot_, opened);
    if (opened.open == OpenOutcome::fails && on_failure_ == OnFailure::goes_on) {
      log_.add(path, StepVerdict::rejected, "cannot be opened: the next is tried");
      return false;
    }
    log_.add(path, StepVerdict::taken, kGlobalNote);
    selection_ = std::move(opened);
    if (selection_.open != OpenOutcome::fails) {
      selection_.open_note.append("; ").append(kGlobalNote);
    }
    return true;
  }

  Selection take() {
    if (selection_.outcome != Outcome::selected) {
      selection_ = not_applicable(policy_, "none of its files is there: nothing is opened or said");
      selection_.outcome = Outcome::none;
    }
    if (!doubts_.empty()) {
      const std::string reached = selection_.chosen_text;
      selection_ = not_applicable(policy_, "not all of its files could be looked at");
      selection_.outcome = Outcome::undetermined;
      selection_.open = OpenOutcome::unknown;
      selection_.possible = doubts_;
      selection_.possible.push_back(reached.empty() ? "nothing is opened" : reached);
    }
    selection_.steps = log_.take();
    return std::move(selection_);
  }

 private:
  const Policy& policy_;
  const Snapshot& snapshot_;
  OnFailure on_failure_;
  Selection selection_;
  StepLog log_;
  std::vector<std::string> doubts_;  ///< What may be taken instead.
};

const std::string* variable(const Snapshot& snapshot, std::string_view name) {
  const Environment* environment = snapshot.environment.get();
  return environment == nullptr ? nullptr : environment->find(name);
}

// FlashInfer ------------------------------------------------------------------------------------

/// The text as it is put together: a folder that ends in a slash gives two.
std::string jit_file(const Snapshot& snapshot) {
  const std::string* folder = variable(snapshot, kJitVariable);
  return (folder != nullptr ? *folder : "/usr/local/cuda/targets/x86_64-linux/lib/") +
         "/libcudart.so.12";
}

Selection decide_jit(const Policy& policy, const PolicyInput& input) {
  const Snapshot& snapshot = input.snapshot;
  if (!is_here(kFlashinfer, snapshot)) return not_applicable(policy, "no sign of FlashInfer");
  Preload preload(policy, snapshot, OnFailure::raises);
  if (snapshot.environment.get() == nullptr) {
    preload.note(kJitVariable, "the environment is not known");
    preload.doubt("a file that CUDA_LIB_PATH names, which could not be read");
  } else if (const std::string* folder = variable(snapshot, kJitVariable)) {
    preload.note(kJitVariable, "set to " + escape_foreign(*folder));
  }
  preload.try_file(jit_file(snapshot));
  return preload.take();
}

std::vector<DiskRequest> wanted_by_jit(const Snapshot& snapshot) {
  if (!is_here(kFlashinfer, snapshot)) return {};
  return {{DiskRequest::Want::elf, jit_file(snapshot), {}}};
}

// sglang-kernel ---------------------------------------------------------------------------------

/// CUDA_HOME if it is not empty, else CUDA_PATH, else the toolkit of the nvcc on PATH (not
/// recorded), else the usual place.
struct Home {
  std::string path = std::string(kToolkit);
  std::string_view from = {};  ///< The variable; "" for none.
};

Home home_of(const Snapshot& snapshot) {
  if (const std::string* value = variable(snapshot, "CUDA_HOME"); value && !value->empty()) {
    return {*value, "CUDA_HOME"};
  }
  if (const std::string* value = variable(snapshot, "CUDA_PATH")) return {*value, "CUDA_PATH"};
  return {};
}

void note_home(const Snapshot& snapshot, const Home& home, Preload& preload) {
  if (snapshot.environment.get() == nullptr) {
    preload.note("CUDA_HOME", "the environment is not known");
    preload.doubt("a file below CUDA_HOME or CUDA_PATH, which could not be read");
  } else if (home.from.empty()) {
    preload.note(kToolkit,
                 "neither CUDA_HOME nor CUDA_PATH is set; an nvcc elsewhere on PATH would come "
                 "before this folder");
  } else {
    preload.note(home.from, "set to " + escape_foreign(home.path));
  }
}

std::vector<std::string> folders_of(const Home& home) {
  return {home.path + "/lib",           home.path + "/lib64", "/usr/lib/x86_64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu", "/usr/lib64",         "/usr/lib"};
}

/// Torch's own, then 13, then 12, each once.
std::vector<int> majors_of(const Snapshot& snapshot) {
  std::vector<int> majors = {13, 12};
  const auto own = torch_cuda_major(snapshot);
  if (!own) return majors;
  std::erase(majors, *own);
  majors.insert(majors.begin(), *own);
  return majors;
}

std::string runtime_in(const std::string& folder, int major) {
  return folder + "/libcudart.so." + std::to_string(major);
}

/// The file behind links, which is what is opened.
std::string resolved(const Snapshot& snapshot, const std::string& path) {
  const auto found = snapshot.disk.find(path);
  if (found == snapshot.disk.end() || found->second.real_path.empty()) return path;
  return found->second.real_path;
}

/// All files that the search may come to, in its order: folders outside, majors inside.
std::vector<std::string> files_of(const Snapshot& snapshot, const std::vector<int>& majors) {
  std::vector<std::string> files;
  for (const std::string& folder : folders_of(home_of(snapshot))) {
    for (const int major : majors) files.push_back(runtime_in(folder, major));
  }
  return files;
}

Selection search(const Policy& policy, const Snapshot& snapshot, const std::vector<int>& majors) {
  if (!is_here(kSglKernel, snapshot)) return not_applicable(policy, "no sign of sglang-kernel");
  Preload preload(policy, snapshot, OnFailure::goes_on);
  note_home(snapshot, home_of(snapshot), preload);
  for (const std::string& file : files_of(snapshot, majors)) {
    if (preload.try_file(resolved(snapshot, file))) break;
  }
  return preload.take();
}

Selection decide_kernel(const Policy& policy, const PolicyInput& input) {
  return search(policy, input.snapshot, majors_of(input.snapshot));
}

Selection decide_kernel_12(const Policy& policy, const PolicyInput& input) {
  return search(policy, input.snapshot, {12});
}

bool is_folder(const Snapshot& snapshot, const std::string& path) {
  return file_now(snapshot, path).state == FileNow::State::directory;
}

/// The first of lib and lib64 that is a folder; without one it walks the whole toolkit.
Selection decide_kernel_lib(const Policy& policy, const PolicyInput& input) {
  const Snapshot& snapshot = input.snapshot;
  if (!is_here(kSglKernel, snapshot)) return not_applicable(policy, "no sign of sglang-kernel");
  Preload preload(policy, snapshot, OnFailure::raises);
  const Home home = home_of(snapshot);
  note_home(snapshot, home, preload);
  const std::string lib = home.path + "/lib";
  const std::string lib64 = home.path + "/lib64";
  if (is_folder(snapshot, lib)) {
    preload.try_file(resolved(snapshot, runtime_in(lib, 12)));
  } else if (is_folder(snapshot, lib64)) {
    preload.try_file(resolved(snapshot, runtime_in(lib64, 12)));
  } else {
    preload.note(home.path, "neither lib nor lib64 is in it: all folders below would be searched");
    preload.doubt("the first libcudart.so.12 below " + home.path);
  }
  return preload.take();
}

Selection decide_kernel_fixed(const Policy& policy, const PolicyInput& input) {
  if (!is_here(kSglKernel, input.snapshot)) {
    return not_applicable(policy, "no sign of sglang-kernel");
  }
  Preload preload(policy, input.snapshot, OnFailure::raises);
  preload.try_file(std::string(kTargetFile));
  return preload.take();
}

/// Of the files also what is behind their links: that is the text that is opened.
std::vector<DiskRequest> wanted_files(const Snapshot& snapshot,
                                      const std::vector<std::string>& files) {
  std::vector<DiskRequest> wanted;
  for (const std::string& file : files) {
    wanted.push_back({DiskRequest::Want::elf, file, {}});
    wanted.push_back({DiskRequest::Want::elf, resolved(snapshot, file), {}});
  }
  return wanted;
}

std::vector<DiskRequest> wanted_by_kernel(const Snapshot& snapshot) {
  if (!is_here(kSglKernel, snapshot)) return {};
  return wanted_files(snapshot, files_of(snapshot, majors_of(snapshot)));
}

std::vector<DiskRequest> wanted_by_kernel_lib(const Snapshot& snapshot) {
  if (!is_here(kSglKernel, snapshot)) return {};
  const std::string home = home_of(snapshot).path;
  std::vector<DiskRequest> wanted =
      wanted_files(snapshot, {runtime_in(home + "/lib", 12), runtime_in(home + "/lib64", 12)});
  wanted.push_back({DiskRequest::Want::stat, home + "/lib", {}});
  wanted.push_back({DiskRequest::Want::stat, home + "/lib64", {}});
  return wanted;
}

std::vector<DiskRequest> wanted_by_kernel_fixed(const Snapshot& snapshot) {
  if (!is_here(kSglKernel, snapshot)) return {};
  return {{DiskRequest::Want::elf, std::string(kTargetFile), {}}};
}

}  // namespace

std::vector<Policy> preload_policies() {
  return {{.id = "flashinfer-jit-preload",
           .consumer = "flashinfer",
           .title = "FlashInfer JIT preload",
           .vintage = "beside the main rule, all releases seen",
           .source = "flashinfer/jit/__init__.py of wheels 0.5.3, 0.6.13, 0.7.4",
           .summary = "at import: libcudart.so.12 in CUDA_LIB_PATH, else in "
                      "/usr/local/cuda/targets/x86_64-linux/lib, opened RTLD_GLOBAL whatever "
                      "PyTorch's major; where it is absent nothing is said",
           .current = true,
           .preload = true,
           .since = "0",
           .wanted = wanted_by_jit,
           .decide = decide_jit},
          {.id = "sglang-kernel-preload",
           .consumer = "sglang-kernel",
           .title = "sglang-kernel preload",
           .vintage = "pull 18747 (2026-02) and later",
           .source = "SGLang sgl-kernel/python/sgl_kernel/load_utils.py, 5fc328465 and later",
           .summary = "at import, after its own library: in lib, lib64 of CUDA_HOME (else "
                      "CUDA_PATH, nvcc's, /usr/local/cuda), then the system's folders, each with "
                      "PyTorch's major, 13, 12; opened RTLD_GLOBAL",
           .current = true,
           .preload = true,
           .wanted = wanted_by_kernel,
           .decide = decide_kernel},
          {.id = "sglang-kernel-preload-12",
           .consumer = "sglang-kernel",
           .title = "sglang-kernel preload 12",
           .vintage = "to pull 18747 (2026-02)",
           .source = "SGLang sgl-kernel/python/sgl_kernel/load_utils.py before 5fc328465",
           .summary = "as sglang-kernel-preload, libcudart.so.12 only",
           .preload = true,
           .wanted = wanted_by_kernel,
           .decide = decide_kernel_12},
          {.id = "sglang-kernel-preload-lib",
           .consumer = "sglang-kernel",
           .title = "sglang-kernel first lib",
           .vintage = "before sglang-kernel-preload-12",
           .source = "SGLang sgl-kernel/python/sgl_kernel/load_utils.py at 00acd8d76",
           .summary = "libcudart.so.12 in the first of lib, lib64 of CUDA_HOME (else CUDA_PATH, "
                      "nvcc's, /usr/local/cuda) that is a folder, else anywhere below; opened "
                      "RTLD_GLOBAL",
           .preload = true,
           .wanted = wanted_by_kernel_lib,
           .decide = decide_kernel_lib},
          {.id = "sglang-kernel-preload-fixed",
           .consumer = "sglang-kernel",
           .title = "sglang-kernel fixed path",
           .vintage = "the oldest: sgl-kernel 0.1.0 (2025)",
           .source = "sgl_kernel/__init__.py of wheel sgl-kernel 0.1.0",
           .summary = "at import, before its own library: "
                      "/usr/local/cuda/targets/x86_64-linux/lib/libcudart.so.12 where it is there, "
                      "opened RTLD_GLOBAL",
           .preload = true,
           .wanted = wanted_by_kernel_fixed,
           .decide = decide_kernel_fixed}};
}

}  // namespace cudart_doctor
