#include "cudart_doctor/app/diff.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <vector>

#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/formats/report_json.hpp"
#include "cudart_doctor/render/render.hpp"
#include "cudart_doctor/sys/input.hpp"
#include "cudart_doctor/sys/run_both.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kStdin = "-";

/// Every argument is part of the command line: what is wrong with one is a usage error.
Error unusable(const std::string& name, const std::string& why) {
  const std::string shown = name == kStdin ? "stdin" : escape_foreign(name);
  return {ErrorKind::usage, "diff: " + shown + ": " + why, 0};
}

Result<std::string> whole(std::string text, Result<InputEnd> end) {
  if (!end) return tl::unexpected(end.error());
  if (*end == InputEnd::cut) return fail(ErrorKind::limit, "it is larger than 16 MiB");
  return text;
}

Result<std::string> read_report(const std::string& path) {
  std::string text;
  auto end =
      read_input_at(path, kMaxReportBytes, [&text](std::string_view bytes) { text.append(bytes); });
  return whole(std::move(text), std::move(end));
}

/// The same report that --from would print.
Result<std::string> replayed_report(const std::string& folder) {
  auto snapshot = read_bundle(folder);
  if (!snapshot) return tl::unexpected(snapshot.error());
  return render_json(make_report(std::move(*snapshot), {}));
}

Result<ReportDigest> digest_of(const std::string& name, const std::string& piped) {
  std::error_code ignored;
  const bool folder = name != kStdin && std::filesystem::is_directory(name, ignored);
  auto text = name == kStdin ? Result<std::string>(piped)
              : folder       ? replayed_report(name)
                             : read_report(name);
  if (!text) return tl::unexpected(text.error());
  auto digest = parse_report(*text);
  if (!digest) return tl::unexpected(digest.error());
  digest->name = name;
  digest->replayed = folder;
  return digest;
}

using Digests = std::vector<std::optional<Result<ReportDigest>>>;

/// In the order of `names`; behind one that could not be read there may be nothing. Two threads,
/// since most of the time goes into taking texts apart.
Digests read_all(const std::vector<std::string>& names, const std::string& piped,
                 Progress& progress) {
  Digests out(names.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> refused = false;
  const auto read = [&](Progress step) {
    while (!refused) {
      const std::size_t i = next++;
      if (i >= names.size()) break;
      step.set("read a report", names[i]);
      out[i] = digest_of(names[i], piped);
      if (!*out[i]) refused = true;
    }
    step.set("", "");
  };
  run_both([&] { read(progress); }, [&] { read(progress.helper()); });
  return out;
}

}  // namespace

Result<std::string> read_piped(const Options& options, const World& world,
                               std::chrono::steady_clock::time_point end) {
  const auto& names = options.compared;
  if (std::find(names.begin(), names.end(), kStdin) == names.end()) return std::string();
  std::string text;
  auto read = world.read_input({kMaxReportBytes, end},
                               [&text](std::string_view bytes) { text.append(bytes); });
  if (!read && read.error().kind == ErrorKind::timeout) return tl::unexpected(read.error());
  auto all = whole(std::move(text), std::move(read));
  if (!all) return tl::unexpected(unusable(std::string(kStdin), all.error().message));
  return all;
}

Result<Comparison> compare_named(const Options& options, const std::string& piped,
                                 Progress& progress) {
  std::vector<ReportDigest> digests;
  std::vector<IgnoredPart> unused = options.ignored;
  Digests all = read_all(options.compared, piped, progress);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Result<ReportDigest>& digest = *all[i];
    if (!digest) return tl::unexpected(unusable(options.compared[i], digest.error().message));
    std::erase_if(unused, [&](const IgnoredPart& part) { return is_in(*digest, part); });
    digests.push_back(without(std::move(*digest), options.ignored));
  }
  Comparison out = compare(std::move(digests));
  for (const IgnoredPart& part : unused) out.unused.push_back(text_of(part));
  return out;
}

}  // namespace cudart_doctor
