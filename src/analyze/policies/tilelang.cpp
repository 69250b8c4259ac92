// TileLang's shim: which real runtime its calls are forwarded to. Resolved once, at the first call
// into the shim; where a real runtime is in the global scope, TileLang's own references bind to it
// and the resolver usually never runs.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/analyze/tilelang_search.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kProbeName = "cudaGetErrorString";
constexpr std::array<std::string_view, 1> kProbe = {kProbeName};
constexpr std::string_view kMakeSure =
    "Make sure PyTorch with CUDA is installed before using TileLang.";

/// The shim by its file name, in the form of 0.1.8 to 0.1.11 and of 0.1.12 on.
std::optional<std::size_t> find_shim(const Snapshot& snapshot) {
  for (const std::size_t object : loaded_objects(snapshot)) {
    const std::string_view base = base_name(snapshot.objects[object].path());
    if (base == "libcudart_stub.so" || base == "libstub_cudart.so") return object;
  }
  return std::nullopt;
}

/// The toolkit major that the shim was built with: its run path ends in nvidia/cu<major>/lib, and
/// wheels with the newer file name are built with 13.
std::string build_major(const Snapshot& snapshot, std::size_t shim) {
  const ElfFacts* elf = snapshot.objects[shim].elf.get();
  if (elf != nullptr) {
    const std::string paths = elf->runpath.value_or(elf->rpath.value_or(""));
    for (const char* major : {"13", "12", "11"}) {
      if (paths.find("nvidia/cu" + std::string(major)) != std::string::npos) return major;
    }
  }
  return base_name(snapshot.objects[shim].path()) == "libstub_cudart.so" ? "13" : "12";
}

bool starts_with_runtime_name(std::string_view base) {
  constexpr std::string_view kPrefix = "libcudart.so";
  if (base.size() < kPrefix.size()) return false;
  return std::equal(kPrefix.begin(), kPrefix.end(), base.begin(), [](char want, char have) {
    return want == (have >= 'A' && have <= 'Z' ? static_cast<char>(have - 'A' + 'a') : have);
  });
}

class Resolver {
 public:
  Resolver(const Policy& policy, const Snapshot& snapshot, std::size_t shim)
      : policy_(policy), snapshot_(snapshot), shim_(shim) {
    selection_.policy = std::string(policy.id);
  }

  /// Step 1 of the present resolver: loaded objects by name, the highest version wins.
  bool try_loaded() {
    std::vector<std::pair<std::string, std::size_t>> matches;
    const std::vector<std::string_view> names = loader_names(snapshot_);
    for (const std::size_t object : loaded_objects(snapshot_)) {
      const std::string_view name = names[object];
      if (object == shim_ || !starts_with_runtime_name(base_name(name))) continue;
      if (!has_probe_name(object)) {
        log_.add(name, StepVerdict::rejected, "does not define cudaGetErrorString");
        continue;
      }
      matches.emplace_back(name, object);
    }
    std::sort(matches.begin(), matches.end(),
              [](const auto& a, const auto& b) { return tilelang_prefers(a.first, b.first); });
    for (std::size_t i = 0; i < matches.size(); ++i) {
      log_.add(matches[i].first, i == 0 ? StepVerdict::taken : StepVerdict::rejected,
               i == 0 ? "loaded, and of the loaded ones the highest version in its name"
                      : "loaded; a higher version in the name wins");
    }
    if (matches.empty()) {
      log_.add("libcudart.so*", StepVerdict::noted, "no loaded object of that name");
      return false;
    }
    take_object(matches.front().second, matches.front().first);
    return true;
  }

  /// RTLD_DEFAULT gives the shim's own name or what stands for it in its GOT, so it is taken for
  /// the shim itself; RTLD_NEXT sees only the shim's own load group.
  void note_global_scope() {
    log_.add(kProbeName, StepVerdict::rejected,
             "global scope: the first definer is taken for the shim itself; nothing behind the "
             "shim in its load group defines it");
  }

  /// True when dlopen of `name` ends the resolution.
  bool try_dlopen(const std::string& name) {
    LoaderAnswer answer = simulate_dlopen(snapshot_, {name, shim_});
    log_.append(answer.steps);
    if (answer.outcome == Outcome::not_found) return false;
    if (answer.outcome == Outcome::selected && lacks_probe(answer)) {
      log_.add(name, StepVerdict::rejected, "does not define cudaGetErrorString");
      return false;
    }
    selection_ = from_loader_answer(policy_, snapshot_, std::move(answer));
    selection_.chosen_text = name;
    return true;
  }

  bool try_disk() {
    for (const std::string& path : tilelang_disk_files(snapshot_, shim_)) {
      if (try_dlopen(path)) return true;
    }
    return false;
  }

  void give_up(std::string_view what) {
    selection_.outcome = Outcome::aborts;
    selection_.error_type = "abort()";
    selection_.error_text = "TileLang Error: " + std::string(what) + ' ' + std::string(kMakeSure);
    selection_.open_note = "the first call into the shim would end the process (SIGABRT)";
  }

  Selection take() {
    selection_.steps = log_.take();
    // All or nothing: one missing name drops the whole table.
    if (selection_.missing_known && !selection_.missing.empty()) {
      selection_.error_text = "cudaErrorUnknown (CUDA runtime stub: libcudart not found)";
    }
    return std::move(selection_);
  }

 private:
  [[nodiscard]] bool has_probe_name(std::size_t object) const {
    const MissingNames missing = missing_in_object(snapshot_, object, kProbe);
    return !missing.known || missing.names.empty();
  }

  [[nodiscard]] bool lacks_probe(const LoaderAnswer& answer) const {
    if (answer.object) return !has_probe_name(*answer.object);
    if (!answer.disk_path) return false;
    const MissingNames missing = missing_in_file(snapshot_, *answer.disk_path, kProbe);
    return missing.known && !missing.names.empty();
  }

  void take_object(std::size_t object, const std::string& name) {
    selection_.outcome = Outcome::selected;
    selection_.chosen_text = name;
    selection_.object = object;
    selection_.open = OpenOutcome::old_object;
    selection_.open_note = "opened again by its name in the link map";
    check_names(policy_, snapshot_, selection_);
  }

  const Policy& policy_;
  const Snapshot& snapshot_;
  std::size_t shim_;
  Selection selection_;
  StepLog log_;
};

Selection no_shim(const Policy& policy) {
  Selection selection;
  selection.policy = std::string(policy.id);
  selection.outcome = Outcome::not_applicable;
  selection.open_note = "no shim of TileLang's is mapped";
  return selection;
}

Selection decide_0_1_8(const Policy& policy, const PolicyInput& input) {
  const auto shim = find_shim(input.snapshot);
  if (!shim) return no_shim(policy);
  Resolver resolver(policy, input.snapshot, *shim);
  resolver.note_global_scope();
  resolver.give_up("libcudart symbols not found globally.");
  return resolver.take();
}

Selection decide_0_1_9(const Policy& policy, const PolicyInput& input) {
  const auto shim = find_shim(input.snapshot);
  if (!shim) return no_shim(policy);
  Resolver resolver(policy, input.snapshot, *shim);
  resolver.note_global_scope();
  for (const char* name :
       {"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11"}) {
    if (resolver.try_dlopen(name)) return resolver.take();
  }
  resolver.give_up("libcudart symbols not found.");
  return resolver.take();
}

Selection decide_present(const Policy& policy, const PolicyInput& input) {
  const auto shim = find_shim(input.snapshot);
  if (!shim) return no_shim(policy);
  Resolver resolver(policy, input.snapshot, *shim);
  if (resolver.try_loaded()) return resolver.take();
  resolver.note_global_scope();
  const std::string major = build_major(input.snapshot, *shim);
  if (resolver.try_dlopen("libcudart.so." + (major == "11" ? "11.0" : major)) ||
      resolver.try_dlopen("libcudart.so") || resolver.try_disk()) {
    return resolver.take();
  }
  resolver.give_up("cudart symbols not found.");
  return resolver.take();
}

void add(std::vector<DiskRequest>& wanted, std::vector<DiskRequest> more) {
  wanted.insert(wanted.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::vector<DiskRequest> wanted_by_0_1_9(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  const auto shim = find_shim(snapshot);
  if (!shim) return wanted;
  for (const char* name :
       {"libcudart.so", "libcudart.so.13", "libcudart.so.12", "libcudart.so.11"}) {
    add(wanted, wanted_by_dlopen(snapshot, {name, shim}));
  }
  return wanted;
}

std::vector<DiskRequest> wanted_by_present(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  const auto shim = find_shim(snapshot);
  if (!shim) return wanted;
  const std::string major = build_major(snapshot, *shim);
  add(wanted,
      wanted_by_dlopen(snapshot, {"libcudart.so." + (major == "11" ? "11.0" : major), shim}));
  add(wanted, wanted_by_dlopen(snapshot, {"libcudart.so", shim}));
  add(wanted, wanted_by_tilelang_search(snapshot, *shim));
  return wanted;
}

}  // namespace

std::vector<Policy> tilelang_policies() {
  return {{.id = "tilelang-stub",
           .rule = "tilelang-shim",
           .consumer = "tilelang",
           .title = "TileLang shim's target",
           .vintage = "0.1.10 (2026-05) and later",
           .source = "TileLang a35008a42, dynlib.h",
           .summary = "highest version among loaded libcudart.so*; else dlopen of the build's "
                      "major, libcudart.so, a search on disk; else abort()",
           .bound_names = names_tilelang(),
           .current = true,
           .wanted = wanted_by_present,
           .decide = decide_present},
          {.id = "tilelang-stub-0.1.9",
           .consumer = "tilelang",
           .title = "TileLang 0.1.9 shim",
           .vintage = "0.1.9 (2026-04)",
           .source = "TileLang 0.1.9, cudart.cc",
           .summary = "global scope; else dlopen of libcudart.so, .so.13, .so.12, .so.11; else "
                      "abort()",
           .bound_names = names_tilelang(),
           .wanted = wanted_by_0_1_9,
           .decide = decide_0_1_9},
          {.id = "tilelang-stub-0.1.8",
           .consumer = "tilelang",
           .title = "TileLang 0.1.8 shim",
           .vintage = "0.1.8 (2026-02)",
           .source = "TileLang 0.1.8, cudart.cc",
           .summary = "global scope, which it takes for itself; else abort()",
           .bound_names = names_tilelang(),
           .decide = decide_0_1_8}};
}

}  // namespace cudart_doctor
