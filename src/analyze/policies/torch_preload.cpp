// PyTorch's preload of the runtime from site-packages: a glob whose first hit is taken in the
// order in which the file system lists the folder. That order does not show from outside.
#include <algorithm>
#include <array>

#include "analyze/torch_build.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kPrefix = "libcudart.so.";
constexpr std::string_view kOldFolder = "/nvidia/cuda_runtime/lib";

enum class Text : bool { legacy, present };

/// A folder that is globbed. `sure` is false where the folder's name depends on what is not known.
struct Place {
  std::string folder;
  bool sure = true;
};

/// The folders below one entry of sys.path, in order.
std::vector<Place> places(const Snapshot& snapshot, const std::string& site, Text text) {
  std::vector<Place> out = {{site + std::string(kOldFolder)}};
  if (text == Text::legacy) return out;
  if (const auto major = torch_cuda_major(snapshot)) {
    out.push_back({site + "/nvidia/cu" + std::to_string(*major) + "/lib"});
  } else {
    out.push_back({site + "/nvidia/cu13/lib", false});
    out.push_back({site + "/nvidia/cu12/lib", false});
  }
  out.push_back({site + "/cuda_runtime/lib"});
  return out;
}

/// libcudart.so.*[0-9]
bool is_hit(std::string_view name) {
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) && name.back() >= '0' &&
         name.back() <= '9';
}

struct Listing {
  bool known = true;
  std::string note;
  std::vector<std::string> hits;  ///< Paths, sorted.
};

Listing list(const Snapshot& snapshot, const std::string& folder) {
  Listing listing;
  const auto found = snapshot.disk.find(folder);
  if (found == snapshot.disk.end()) {
    listing.known = snapshot.origin == SnapshotOrigin::fixture;
    listing.note = "nobody looked at this folder";
    return listing;
  }
  const DiskEntry& entry = found->second;
  listing.known = entry.kind != DiskKind::unreadable;
  listing.note = entry.note;
  for (const std::string& name : entry.names) {
    if (is_hit(name)) listing.hits.push_back(folder + "/" + name);
  }
  return listing;
}

std::string major_in_name(std::string_view path) {
  return std::string(split(base_name(path).substr(kPrefix.size()), '.').front());
}

/// Whether all paths lead to one file.
bool is_one_file(const Snapshot& snapshot, const std::vector<std::string>& paths) {
  const FileNow first = file_now(snapshot, paths.front());
  return std::all_of(paths.begin(), paths.end(), [&](const std::string& path) {
    const FileNow now = file_now(snapshot, path);
    return path == paths.front() ||
           (now.state == FileNow::State::file && now.key.is_file() && now.key == first.key);
  });
}

class Glob {
 public:
  Glob(const Policy& policy, const Snapshot& snapshot) : policy_(policy), snapshot_(snapshot) {
    selection_.policy = std::string(policy.id);
  }

  Selection run(Text text) {
    for (const std::string& site : snapshot_.python.site_directories) {
      for (const Place& place : places(snapshot_, site, text)) {
        if (look_into(place)) return finish();
      }
    }
    selection_.outcome = doubts_.empty() ? Outcome::none : Outcome::undetermined;
    selection_.open_note = "no folder of the Python path holds libcudart.so.N";
    if (!doubts_.empty()) selection_.open_note = "not all folders could be looked into";
    return finish();
  }

 private:
  /// True when the search ends here.
  bool look_into(const Place& place) {
    const Listing listing = list(snapshot_, place.folder);
    if (!listing.known) {
      log_.add(place.folder, StepVerdict::noted, "not known: " + escape_foreign(listing.note));
      doubts_.push_back(place.folder);
      return false;
    }
    if (listing.hits.empty()) {
      log_.add(place.folder, StepVerdict::rejected, "no file libcudart.so.N");
      return false;
    }
    if (!place.sure) {
      for (const std::string& hit : listing.hits) {
        log_.add(hit, StepVerdict::noted, "taken if PyTorch was built for this major: not known");
        doubts_.push_back(hit);
      }
      return false;
    }
    take(listing.hits);
    return true;
  }

  void take(const std::vector<std::string>& hits) {
    if (doubts_.empty() && is_one_file(snapshot_, hits)) {
      log_.add(hits.front(), StepVerdict::taken, "the first folder with a hit, and one file");
      selection_.outcome = Outcome::selected;
      selection_.chosen_text = hits.front();
      open_and_bind(policy_, snapshot_, selection_);
      return;
    }
    selection_.outcome = Outcome::undetermined;
    for (const std::string& hit : hits) {
      log_.add(hit, StepVerdict::noted, "a hit; the first in the folder's own order is taken");
      doubts_.push_back(hit);
    }
    const bool majors = std::any_of(hits.begin(), hits.end(), [&](const std::string& hit) {
      return major_in_name(hit) != major_in_name(hits.front());
    });
    selection_.open_note =
        hits.size() == 1 ? "not all places that come earlier are known"
                         : std::string("several ") + (majors ? "majors" : "files") +
                               " in one folder: its order on disk decides, and a listing does not "
                               "tell it";
  }

  Selection finish() {
    if (selection_.outcome == Outcome::undetermined) {
      selection_.open = OpenOutcome::unknown;
      selection_.possible = doubts_;
    }
    std::vector<Step> steps = log_.take();
    steps.insert(steps.end(), selection_.steps.begin(), selection_.steps.end());
    selection_.steps = std::move(steps);
    return std::move(selection_);
  }

  const Policy& policy_;
  const Snapshot& snapshot_;
  Selection selection_;
  StepLog log_;
  std::vector<std::string> doubts_;  ///< What may be taken instead.
};

Selection nothing_to_preload(const Policy& policy, std::string why) {
  Selection selection;
  selection.policy = std::string(policy.id);
  selection.outcome = Outcome::none;
  selection.open_note = std::move(why);
  return selection;
}

Selection decide_present(const Policy& policy, const PolicyInput& input) {
  if (!torch_is_here(input.snapshot)) return not_applicable(policy, "no sign of PyTorch");
  const auto& lines = input.cudart_lines;
  const bool named = std::any_of(lines.begin(), lines.end(), [](const PythonLine& line) {
    return line.text.find("libcudart.so") != std::string_view::npos;
  });
  if (look_at_torch(input.snapshot).need && !named) {
    return nothing_to_preload(policy, "not run: no mapped file is named libcudart.so");
  }
  return Glob(policy, input.snapshot).run(Text::present);
}

Selection decide_legacy(const Policy& policy, const PolicyInput& input) {
  if (!torch_is_here(input.snapshot)) return not_applicable(policy, "no sign of PyTorch");
  if (look_at_torch(input.snapshot).need) {
    return nothing_to_preload(policy,
                              "not run where PyTorch's libraries found their runtime themselves");
  }
  return Glob(policy, input.snapshot).run(Text::legacy);
}

template <Text kText>
std::vector<DiskRequest> wanted(const Snapshot& snapshot) {
  std::vector<DiskRequest> out;
  if (!torch_is_here(snapshot)) return out;
  for (const std::string& site : snapshot.python.site_directories) {
    for (const Place& place : places(snapshot, site, kText)) {
      out.push_back({DiskRequest::Want::list, place.folder, std::string(kPrefix)});
      for (std::string& hit : list(snapshot, place.folder).hits) {
        out.push_back({DiskRequest::Want::elf, std::move(hit), {}});
      }
    }
  }
  return out;
}

}  // namespace

std::vector<Policy> torch_preload_policies() {
  return {
      {.id = "torch-preload",
       .consumer = "torch",
       .title = "PyTorch preload",
       .vintage = "2.9.0 (2025-10) and later",
       .source = "PyTorch torch/__init__.py, pulls 150068 and 163661",
       .summary = "where libtorch_global_deps.so fails, or libcudart.so is in maps: for each "
                  "entry of sys.path libcudart.so.N in nvidia/cuda_runtime/lib, nvidia/cuN/lib "
                  "(N of PyTorch's build), cuda_runtime/lib; the first hit in the folder's own "
                  "order, not sorted",
       .current = true,
       .preload = true,
       .since = "2.9.0",
       .wanted = wanted<Text::present>,
       .decide = decide_present},
      {.id = "torch-preload-legacy",
       .consumer = "torch",
       .title = "PyTorch preload to 2.8",
       .vintage = "2.0.0 (2023-03) to 2.8",
       .source = "PyTorch 0027c653, torch/__init__.py",
       .summary = "only where libtorch_global_deps.so fails: for each entry of sys.path "
                  "libcudart.so.N in nvidia/cuda_runtime/lib; the first hit in the folder's own "
                  "order, not sorted",
       .preload = true,
       .since = "2.0.0",
       .before = "2.9.0",
       .wanted = wanted<Text::legacy>,
       .decide = decide_legacy}};
}

}  // namespace cudart_doctor
