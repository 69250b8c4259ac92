#include "cudart_doctor/app/self.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/candidates.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/self_child.hpp"

namespace cudart_doctor {
namespace {

/// Genuine shared runtimes that are installed in the Python environment and not mapped.
std::vector<std::string> installed_runtimes(const Snapshot& snapshot) {
  std::vector<std::string> out;
  for (const Candidate& candidate : find_candidates(snapshot)) {
    if (candidate.object || candidate.kind != RuntimeKind::genuine) continue;
    const bool in_python = std::any_of(
        snapshot.installed.begin(), snapshot.installed.end(), [&](const InstalledFile& file) {
          return file.path == candidate.path && file.found_by == "python environment";
        });
    if (in_python) out.push_back(candidate.path);
  }
  return out;
}

bool has_runtime(const Snapshot& snapshot) {
  return std::ranges::any_of(find_candidates(snapshot), [](const Candidate& candidate) {
    return candidate.loaded && candidate.kind == RuntimeKind::genuine;
  });
}

Result<Snapshot> capture_child(const SelfChild& child, CaptureOptions options,
                               const CaptureRules& rules) {
  options.pid = child.pid();
  auto snapshot = capture_process(options, rules);
  if (!snapshot) return snapshot;
  snapshot->origin = SnapshotOrigin::self;
  snapshot->environment_only = true;
  return snapshot;
}

Result<void> check_loads(const SelfChild& child) {
  for (const SelfLoad& load : child.loads()) {
    if (load.loaded) continue;
    // The loader's text begins with the file, unless one that it needs is missing.
    const std::string name = load.error.starts_with(load.name) ? "" : load.name + ": ";
    return fail(ErrorKind::usage, "--load " + escape_foreign(name + load.error));
  }
  return {};
}

std::string names_of(const std::vector<SelfLoad>& tries) {
  std::vector<std::string> names;
  for (const SelfLoad& load : tries) names.push_back(load.name);
  return join(names, ", ");
}

}  // namespace

Result<Snapshot> capture_self(const SelfRequest& request, const CaptureOptions& options,
                              const CaptureRules& rules) {
  SelfChildOptions how;
  how.load = request.load;
  // No path for the supervisor: what was asked for is not to be left out at another try.
  how.opening = [&options](const std::string& name) {
    if (options.progress) options.progress("open " + escape_foreign(name) + " in a child", {});
  };
  auto child = start_self_child(how);
  if (!child) return tl::unexpected(child.error());
  if (const auto checked = check_loads(*child); !checked) return tl::unexpected(checked.error());
  std::vector<std::string> notes;
  for (const SelfLoad& load : child->loads()) {
    notes.push_back("opened as asked: " + escape_foreign(load.name));
  }
  if (!request.load.empty()) {
    auto loaded = capture_child(*child, options, rules);
    if (!loaded) return loaded;
    if (has_runtime(*loaded)) {
      // A second one would be ours: its findings would speak of nothing that anybody runs.
      notes.emplace_back("a runtime came with it; the loader was asked for no other");
      loaded->self_notes = std::move(notes);
      return loaded;
    }
  }
  if (const auto opened = child->open_runtime(); !opened) return tl::unexpected(opened.error());
  auto snapshot = capture_child(*child, options, rules);
  if (!snapshot) return snapshot;
  if (!child->runtime().empty()) {
    notes.push_back("the loader finds " + child->runtime());
  } else {
    notes.push_back("the loader finds none of " + names_of(child->runtime_tries()));
    const auto installed = installed_runtimes(*snapshot);
    if (installed.size() == 1) {
      how.opening(installed.front());
      const auto opened = child->open(installed.front());
      if (!opened) return tl::unexpected(opened.error());
      notes.push_back((opened->loaded ? "opened the one installed in the Python environment: "
                                      : "could not open the installed one: ") +
                      escape_foreign(opened->loaded ? installed.front() : opened->error));
      snapshot = capture_child(*child, options, rules);
      if (!snapshot) return snapshot;
    } else if (!installed.empty()) {
      notes.push_back(count_of(installed.size(), "runtime") +
                      " installed in the Python environment; none was opened (--load does)");
    }
  }
  snapshot->self_notes = std::move(notes);
  return snapshot;
}

}  // namespace cudart_doctor
