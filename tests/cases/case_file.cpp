#include "case_file.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor::test {
namespace {

constexpr std::array<std::string_view, 15> kRules{
    "scan-substring",  "scan-basename", "dt-needed:11",      "dt-needed:12",
    "dt-needed:13",    "cudnn-fe",      "torch-preload",     "tilelang-shim",
    "static",          "ldconfig-list", "libcuda-by-cudart", "libcuda-unversioned",
    "maps-last-token", "vllm-2026-07",  "sglang-2026-07"};
constexpr std::array<std::string_view, 6> kObjectKinds{"cudart",      "lookalike", "driver",
                                                       "driver-stub", "nvrtc",     "other"};
constexpr std::array<std::string_view, 14> kObjectKeys{
    "kind", "soname", "ver",           "build", "missing",   "needed",           "needs",
    "size", "uses",   "static-cudart", "named", "undefined", "undefined-driver", "version-need"};
constexpr std::array<std::string_view, 17> kHostKeys{
    "kmod",         "pidns.self", "pidns.peer",        "nspid.self",     "nspid.peer",
    "uuids.self",   "uuids.peer", "yama.ptrace_scope", "cap_sys_ptrace", "ldconf",
    "device-nodes", "mntns.self", "mntns.doctor",      "no-ipc",         "mps",
    "nvml",         "maps.moving"};
constexpr std::array<std::string_view, 8> kProbeKeys{
    "ipc.local",   "ipc.peer.open", "cudaGetDeviceCount", "app.reported",
    "pidfd_getfd", "driverVersion", "runtimeVersion",     "pair"};
constexpr std::string_view kStageKey = "stage.";
constexpr std::array<std::string_view, 4> kFailWords{"open", "unexpected-filename", "not-found",
                                                     "multiple"};
constexpr std::array<std::string_view, 4> kSeverities{"info", "warning", "error", "critical"};

template <std::size_t N>
bool one_of(const std::array<std::string_view, N>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

struct Block {
  std::string name;
  std::string variant;
  std::vector<std::pair<std::size_t, std::string>> lines;  ///< Line number, text without LF.
};

/// "key=value" items separated by one blank, each key once.
Result<std::map<std::string, std::string>> parse_items(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string_view item : split(text, ' ')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return fail(ErrorKind::malformed, "no key=value: " + std::string(item));
    }
    const auto [where, added] =
        out.emplace(std::string(item.substr(0, equals)), std::string(item.substr(equals + 1)));
    if (!added) return fail(ErrorKind::malformed, "key given twice: " + where->first);
  }
  return out;
}

bool is_number(std::string_view text) { return parse_unsigned(text, 10).has_value(); }

bool is_hex_text(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

/// The values that can be checked by their form.
bool is_good_value(std::string_view key, std::string_view value) {
  if (value.empty()) return false;
  if (key == "needed" || key == "size") return is_number(value);
  if (key == "named") return value == "1";
  if (key == "build") return is_hex_text(value);
  if (key == "uses") return one_of(kRules, value);
  if (key == "undefined" || key == "version-need") {
    const std::size_t at = value.find('@');
    return at != std::string_view::npos && at > 0 && at + 1 < value.size();
  }
  return true;
}

Result<void> add_object(CaseFacts& facts, std::string_view rest) {
  const std::size_t cut = rest.find(" kind=");
  if (cut == std::string_view::npos || cut == 0) {
    return fail(ErrorKind::malformed, "obj wants a path and kind=");
  }
  auto items = parse_items(rest.substr(cut + 1));
  if (!items) return tl::unexpected(items.error());
  for (const auto& [key, value] : *items) {
    if (!one_of(kObjectKeys, key)) return fail(ErrorKind::malformed, "unknown key " + key);
    if (!is_good_value(key, value)) {
      return fail(ErrorKind::malformed, "bad value of " + key + ": " + value);
    }
  }
  ObjectLine line{std::string(rest.substr(0, cut)), items->at("kind"), *items};
  if (!one_of(kObjectKinds, line.kind)) {
    return fail(ErrorKind::malformed, "unknown kind " + line.kind);
  }
  facts.objects.push_back(std::move(line));
  return {};
}

Result<void> add_disk(CaseFacts& facts, std::string_view rest) {
  if (rest.ends_with(" absent") && rest.size() > 7) {
    facts.disk.push_back({std::string(rest.substr(0, rest.size() - 7)), true, {}, 0});
    return {};
  }
  const std::size_t cut = rest.rfind(" dev=");
  if (cut == std::string_view::npos || cut == 0) {
    return fail(ErrorKind::malformed, "disk wants a path and dev=");
  }
  const auto items = parse_items(rest.substr(cut + 1));
  if (!items) return tl::unexpected(items.error());
  if (items->size() != 2 || !items->contains("dev") || !items->contains("ino")) {
    return fail(ErrorKind::malformed, "disk wants dev= and ino=");
  }
  const auto device = split(items->at("dev"), ':');
  if (device.size() != 2 || !is_hex_text(device[0]) || !is_hex_text(device[1])) {
    return fail(ErrorKind::malformed, "bad device " + items->at("dev"));
  }
  const auto inode = parse_unsigned(items->at("ino"), 10);
  if (!inode) return fail(ErrorKind::malformed, "bad inode");
  facts.disk.push_back({std::string(rest.substr(0, cut)), false, items->at("dev"), *inode});
  return {};
}

Result<std::pair<std::string, std::string>> split_pair(std::string_view text,
                                                       std::string_view separator) {
  const std::size_t cut = text.find(separator);
  if (cut == std::string_view::npos || cut == 0) {
    return fail(ErrorKind::malformed, "wants a name and '" + std::string(separator) + "'");
  }
  return std::pair{std::string(text.substr(0, cut)),
                   std::string(text.substr(cut + separator.size()))};
}

using KeyCheck = bool (*)(std::string_view key);

bool is_host_key(std::string_view key) { return one_of(kHostKeys, key); }

/// "stage.kernels": any stage of the probe.
bool is_probe_key(std::string_view key) {
  const bool is_stage =
      key.starts_with(kStageKey) && one_of(kStageNames, key.substr(kStageKey.size()));
  return is_stage || one_of(kProbeKeys, key);
}

Result<void> add_keyed(std::map<std::string, std::string>& into, std::string_view rest,
                       KeyCheck is_known) {
  auto pair = split_pair(rest, "=");
  if (!pair) return tl::unexpected(pair.error());
  if (!is_known(pair->first)) return fail(ErrorKind::malformed, "unknown key " + pair->first);
  if (!into.insert(*pair).second) return fail(ErrorKind::malformed, "given twice: " + pair->first);
  return {};
}

/// "NAME[,NAME...]": bound names that a user's profile asks of what the headline's rule takes.
Result<void> add_profile(CaseFacts& facts, std::string_view rest) {
  Profile profile;
  profile.id = profile.title = "asked-" + std::to_string(facts.profiles.size() + 1);
  for (const std::string_view name : split(rest, ',')) {
    if (name.empty()) return fail(ErrorKind::malformed, "empty name in profile");
    profile.names.emplace_back(name);
  }
  facts.profiles.push_back(std::move(profile));
  return {};
}

Result<void> add_fact(CaseFacts& facts, std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return fail(ErrorKind::malformed, "unknown fact");
  const std::string_view word = line.substr(0, blank);
  const std::string_view rest = line.substr(blank + 1);
  if (word == "obj") return add_object(facts, rest);
  if (word == "disk") return add_disk(facts, rest);
  if (word == "host") return add_keyed(facts.host, rest, &is_host_key);
  if (word == "profile") return add_profile(facts, rest);
  if (word == "probe") return add_keyed(facts.probe, rest, &is_probe_key);
  if (word == "search" || word == "env") {
    auto pair = split_pair(rest, word == "env" ? "=" : " -> ");
    if (!pair) return tl::unexpected(pair.error());
    if (word == "search" && pair->second.empty()) {
      return fail(ErrorKind::malformed, "search without a path");
    }
    (word == "env" ? facts.environment : facts.searches).push_back(std::move(*pair));
    return {};
  }
  return fail(ErrorKind::malformed, "unknown fact " + std::string(word));
}

Result<Expectation> parse_select(std::string_view rest, std::string_view line) {
  auto pair = split_pair(rest, " = ");
  if (!pair) return tl::unexpected(pair.error());
  if (!one_of(kRules, pair->first)) return fail(ErrorKind::malformed, "unknown rule");
  const std::string& value = pair->second;
  const bool is_failure =
      value.starts_with("FAIL:") && one_of(kFailWords, std::string_view(value).substr(5));
  if (!value.starts_with('/') && value != "NONE" && !is_failure) {
    return fail(ErrorKind::malformed, "neither a path, NONE nor FAIL:WORD: " + value);
  }
  return Expectation{Expectation::Kind::select, pair->first, value, std::string(line)};
}

Result<Expectation> parse_expectation(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos) return fail(ErrorKind::malformed, "unknown expectation");
  const std::string_view word = line.substr(0, blank);
  const std::string_view rest = line.substr(blank + 1);
  if (word == "select") return parse_select(rest, line);
  if (word == "runtimes") {
    if (!parse_unsigned(rest, 10)) return fail(ErrorKind::malformed, "runtimes wants a number");
    return Expectation{Expectation::Kind::runtimes, {}, std::string(rest), std::string(line)};
  }
  if (word == "find") {
    auto pair = split_pair(rest, " ");
    if (!pair) return tl::unexpected(pair.error());
    if (!is_finding_id(pair->first)) return fail(ErrorKind::malformed, "unknown finding");
    if (!one_of(kSeverities, pair->second)) return fail(ErrorKind::malformed, "unknown severity");
    return Expectation{Expectation::Kind::find, pair->first, pair->second, std::string(line)};
  }
  if (word == "absent") {
    if (!is_finding_id(rest)) return fail(ErrorKind::malformed, "unknown finding");
    return Expectation{Expectation::Kind::absent, std::string(rest), {}, std::string(line)};
  }
  return fail(ErrorKind::malformed, "unknown expectation " + std::string(word));
}

Result<void> check_header(std::map<std::string, int>& counts, std::string_view line,
                          std::string_view stem) {
  const std::size_t blank = line.find(' ');
  const std::string word(line.substr(0, blank));
  if (blank == std::string_view::npos ||
      (word != "case" && word != "title" && word != "refs" && word != "note")) {
    return fail(ErrorKind::malformed, "unknown header");
  }
  if (++counts[word] > 1 && word != "note") return fail(ErrorKind::malformed, word + " twice");
  const std::string_view rest = line.substr(blank + 1);
  if (rest.empty()) return fail(ErrorKind::malformed, word + " without text");
  if (word == "case" && rest != stem) {
    return fail(ErrorKind::malformed, "case is not the file's name");
  }
  if (word == "refs") {
    const auto ids = split(rest, ' ');
    if (std::any_of(ids.begin(), ids.end(), [](auto id) { return id.empty(); })) {
      return fail(ErrorKind::malformed, "refs wants ids with one blank between them");
    }
  }
  return {};
}

tl::unexpected<Error> at_line(std::size_t number, const Error& error) {
  return fail(error.kind, "line " + std::to_string(number) + ": " + error.message);
}

Result<Block> parse_mark(std::string_view line) {
  if (!line.ends_with(']')) return fail(ErrorKind::malformed, "block mark without ]");
  const std::string_view inside = line.substr(1, line.size() - 2);
  const std::size_t blank = inside.find(' ');
  Block block{std::string(inside.substr(0, blank)), {}, {}};
  if (block.name != "maps" && block.name != "facts" && block.name != "expect") {
    return fail(ErrorKind::malformed, "unknown block " + block.name);
  }
  if (blank != std::string_view::npos) {
    block.variant = inside.substr(blank + 1);
    const bool good = !block.variant.empty() &&
                      std::all_of(block.variant.begin(), block.variant.end(), [](char c) {
                        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
                      });
    if (!good) return fail(ErrorKind::malformed, "bad variant name");
  }
  return block;
}

Result<std::vector<Block>> parse_blocks(std::string_view text, std::string_view stem) {
  std::vector<Block> blocks;
  std::map<std::string, int> headers;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return at_line(number, {ErrorKind::malformed, "does not end with LF", 0});
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.find('\t') != std::string_view::npos) {
      return at_line(number, {ErrorKind::malformed, "a tab", 0});
    }
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '[') {
      auto block = parse_mark(line);
      if (!block) return at_line(number, block.error());
      blocks.push_back(std::move(*block));
    } else if (blocks.empty()) {
      const auto checked = check_header(headers, line, stem);
      if (!checked) return at_line(number, checked.error());
    } else {
      blocks.back().lines.emplace_back(number, line);
    }
  }
  if (headers["case"] != 1 || headers["title"] != 1) {
    return fail(ErrorKind::malformed, "case and title are wanted once");
  }
  return blocks;
}

/// One line of the maps block by the product's own parser, and where it begins.
Result<std::uint64_t> check_maps_line(const std::string& line, std::uint64_t lowest) {
  const auto table = parse_maps(line + "\n");
  if (!table) return tl::unexpected(table.error());
  if (table->odd_lines != 0 || table->rows.size() != 1) {
    return fail(ErrorKind::malformed, "no maps line");
  }
  const Mapping& row = table->rows.front();
  if (row.lo < lowest) return fail(ErrorKind::malformed, "not in address order");
  return row.hi;
}

Result<void> fill_run(CaseRun& run, const Block& block) {
  if (block.name == "maps") run.maps.clear();
  if (block.name == "facts") run.facts = {};
  if (block.name == "expect") run.expectations.clear();
  std::uint64_t lowest = 0;
  for (const auto& [number, line] : block.lines) {
    if (block.name == "maps") {
      const auto end = check_maps_line(line, lowest);
      if (!end) return at_line(number, end.error());
      lowest = *end;
      run.maps += line + "\n";
    } else if (block.name == "facts") {
      const auto added = add_fact(run.facts, line);
      if (!added) return at_line(number, added.error());
    } else {
      auto expectation = parse_expectation(line);
      if (!expectation) return at_line(number, expectation.error());
      run.expectations.push_back(std::move(*expectation));
    }
  }
  if (block.name == "expect") {
    const auto runtimes =
        std::count_if(run.expectations.begin(), run.expectations.end(),
                      [](const Expectation& e) { return e.kind == Expectation::Kind::runtimes; });
    if (runtimes != 1) return fail(ErrorKind::malformed, "runtimes is wanted once");
  }
  return {};
}

}  // namespace

bool is_finding_id(std::string_view id) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 5> kFamilies{
      {{"RT", 12}, {"MP", 8}, {"DR", 15}, {"IP", 9}, {"SY", 6}}};
  if (id.size() != 4) return false;
  const auto number = parse_unsigned(id.substr(2), 10);
  return number && std::any_of(kFamilies.begin(), kFamilies.end(), [&](const auto& family) {
           return id.substr(0, 2) == family.first && *number >= 1 && *number <= family.second;
         });
}

Result<std::vector<CaseRun>> parse_case(std::string_view text, std::string_view file_name) {
  std::string_view stem = base_name(file_name);
  if (stem.ends_with(".case")) stem.remove_suffix(5);
  const auto blocks = parse_blocks(text, stem);
  if (!blocks) return tl::unexpected(blocks.error());
  constexpr std::array<std::string_view, 3> kOrder{"maps", "facts", "expect"};
  if (blocks->size() < kOrder.size()) return fail(ErrorKind::malformed, "a base block is missing");
  std::vector<CaseRun> runs(1);
  runs.front().name = stem;
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const Block& block = (*blocks)[i];
    const bool base = i < kOrder.size();
    if (base && (block.name != kOrder[i] || !block.variant.empty())) {
      return fail(ErrorKind::malformed, "base blocks are maps, facts, expect in this order");
    }
    const bool stands_twice = std::any_of(
        blocks->begin(), blocks->begin() + static_cast<std::ptrdiff_t>(i), [&](const Block& other) {
          return other.name == block.name && other.variant == block.variant;
        });
    if (stands_twice) return fail(ErrorKind::malformed, block.name + " stands twice");
    CaseRun* run = &runs.front();
    if (!base) {
      const std::string name = runs.front().name + " [" + block.variant + "]";
      auto found =
          std::find_if(runs.begin(), runs.end(), [&](const CaseRun& r) { return r.name == name; });
      if (found == runs.end()) {
        runs.push_back(runs.front());
        runs.back().name = name;
        found = std::prev(runs.end());
      }
      run = &*found;
    }
    const auto filled = fill_run(*run, block);
    if (!filled) return tl::unexpected(filled.error());
  }
  return runs;
}

}  // namespace cudart_doctor::test
