#include "cudart_doctor/collect/survey.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/likeness.hpp"
#include "cudart_doctor/collect/process_facts.hpp"
#include "cudart_doctor/collect/silent_mounts.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h.
constexpr std::uint64_t kMostMaps = std::uint64_t{1} << 30U;
constexpr std::string_view kNodes = "/dev/nvidia";

/// What a rule for names looks for anywhere in a line of maps, folders included.
constexpr std::string_view kWord = "libcudart";

bool is_over(const Error& error) {
  return error.kind == ErrorKind::gone || error.kind == ErrorKind::not_found;
}

void take_error(const Error& error, NodeProcess& out) {
  out.state = is_over(error) ? ProcessState::gone : ProcessState::unread;
  out.reason = error.kind;
  out.note = error.message;
}

/// "map_files/400000-401000": maps pads short addresses with zeros, map_files does not.
std::string map_file_name(std::string_view range) {
  const auto bare = [](std::string_view digits) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    return std::string(digits);
  };
  const std::size_t dash = range.find('-');
  if (dash == 0 || dash == std::string_view::npos || dash + 1 == range.size()) return {};
  return "map_files/" + bare(range.substr(0, dash)) + "-" + bare(range.substr(dash + 1));
}

/// The mapped file itself, a regular one; nothing where it may not be opened.
std::optional<OpenedFile> open_map_file(const ProcDirectory& process, const std::string& name,
                                        const struct stat& info) {
  auto fd = process.open_file(name);
  if (!fd) return std::nullopt;
  OpenedFile out;
  out.fd = std::move(*fd);
  out.info.mode = info.st_mode;
  out.info.size = static_cast<std::uint64_t>(std::max<off_t>(info.st_size, 0));
  return out;
}

/// Without the right to follow map_files: the file at its path, where that is the mapped one.
std::optional<OpenedFile> open_at_path(const ProcDirectory& process, const MappedFile& file) {
  const auto files = TargetFiles::open(process);
  if (!files) return std::nullopt;
  const auto found = files->find(std::string(file.path));
  if (!found || found->info.key.inode != file.key.inode) return std::nullopt;
  auto opened = files->open_regular(*found, file.path);
  if (!opened) return std::nullopt;
  return std::move(*opened);
}

/// "nvidia0" of "/dev/nvidia0"; "" for the nodes of no card.
std::string card_node(std::string_view path) {
  const std::string_view number = path.substr(kNodes.size());
  return parse_unsigned(number, 10) ? std::string(path.substr(path.rfind('/') + 1)) : "";
}

}  // namespace

NodeProcess Survey::look(std::int64_t pid, const std::set<std::string>& skip) {
  skip_ = skip;
  NodeProcess out;
  out.facts.pid = pid;
  step("read process", root_.shown(std::to_string(pid)));
  const auto process = root_.child(std::to_string(pid));
  if (!process) {
    take_error(process.error(), out);
    return out;
  }
  silent_ = silent_mounts(*process, skip_);
  const auto text = process->read_file("stat");
  const auto stat = text ? parse_stat(*text) : Result<StatFile>(tl::unexpected(text.error()));
  if (!stat) {
    take_error(stat.error(), out);
    return out;
  }
  out.facts.parent_pid = stat->parent_pid;
  out.facts.start_ticks = stat->start_ticks;
  out.facts.comm = stat->comm;
  if ((stat->flags & kKernelThread) != 0) {
    out.state = ProcessState::kernel_thread;
  } else if ((stat->state == 'Z' || stat->state == 'X') && stat->threads > 1) {
    out.state = ProcessState::unread;
    out.reason = ErrorKind::io;
    out.note = "its main thread has ended, other threads go on: they are not looked at";
  } else if (stat->state == 'Z' || stat->state == 'X') {
    out.state = ProcessState::zombie;
  } else {
    look_at_maps(*process, out);
  }
  return out;
}

void Survey::look_at_maps(const ProcDirectory& process, NodeProcess& out) {
  if (options_.depth == SurveyDepth::facts) {
    // What cannot be read of them is unknown; the maps decide what becomes of the process.
    if (auto facts = read_process_facts(process, out.facts.pid)) {
      out.facts = std::move(*facts);
      if (const std::string line = process.shown("cmdline"); !skip_.contains(line)) {
        step("read command line", line);
        out.facts.command_line = read_command_line(process);
      }
    }
  }
  const std::string name = process.shown("maps");
  step("read maps", name);
  const auto maps = process.read_file("maps", kMostMaps);
  if (!maps) {
    take_error(maps.error(), out);
    struct stat owner{};
    if (::fstat(process.fd(), &owner) == 0) out.facts.uid = owner.st_uid;
    return;
  }
  if (maps->empty()) {
    out.state = ProcessState::gone;
    out.note = ended(out.facts.pid).message;
    return;
  }
  LikenessMaps compared{.text = *maps, .ordered = {}};
  bool holds_cuda = false;
  for (const MappedFile& file : mapped_files(*maps)) {
    if (file.path.starts_with(kNodes)) {
      holds_cuda = true;
      compared.ordered.push_back(file.path);
      const std::string node = card_node(file.path);
      if (node.empty()) continue;
      const std::string& gpu = gpu_name(node);
      if (std::ranges::find(out.gpus, gpu) == out.gpus.end()) out.gpus.push_back(gpu);
    } else if (concerns_cuda(process, file)) {
      holds_cuda = true;
      compared.ordered.push_back(file.path);
    } else if (file.path.find(kWord) != std::string_view::npos) {
      compared.ordered.push_back(file.path);
    }
  }
  if (!holds_cuda) return;
  out.state = ProcessState::unjudged;
  // Its number in our own PID namespace only where /proc is of that.
  const bool own = root_.path() == "/proc" && root_.is_procfs();
  // One whose memory does not answer is like no other.
  if (const std::string memory = process.shown("mem"); !skip_.contains(memory)) {
    step("read link map", memory);
    out.likeness = likeness_of(process, own ? out.facts.pid : 0, compared, options_.salt);
  }
  if (const auto status = process.read_file("status")) {
    out.facts.ns_pids = parse_status(*status).ns_pids;
  }
}

bool Survey::concerns_cuda(const ProcDirectory& process, const MappedFile& file) {
  // Asked of every mapping: most were answered for another process. What a file is called counts,
  // and it may have several names.
  auto& names = known_[file.key];
  const auto found = std::ranges::find(names, file.path, &KnownFile::path);
  if (found != names.end()) return found->concerns_cuda;
  const bool answer = rules_.is_cuda_name(file.path) || ask_file(process, file);
  names.push_back({std::string(file.path), answer});
  return answer;
}

bool Survey::ask_file(const ProcDirectory& process, const MappedFile& file) {
  // "Could not read" is never "not there": the full look has more ways to read, and says so.
  constexpr bool kNotKnown = true;
  const std::string path(file.path);
  if (skip_.contains(path) || lies_in(silent_, path)) return kNotKnown;
  step("read mapped file", path);
  const std::string name = map_file_name(file.range);
  const auto info = process.stat_file(name);
  // Looked at before it is opened: to open a device may wake it, to open a FIFO may block.
  if (info && !S_ISREG(info->st_mode)) return false;
  std::optional<OpenedFile> opened;
  if (info) opened = open_map_file(process, name, *info);
  if (!opened) opened = open_at_path(process, file);
  if (!opened) return path.starts_with('/') ? kNotKnown : false;
  FileSource source(std::move(opened->fd), opened->info.size);
  auto reader = ElfReader::open(source, ElfImage::file);
  // Most files of data are no ELF, and say so. What is executed and is none was spoilt.
  if (!reader) return file.executable || reader.error().kind != ErrorKind::malformed;
  return rules_.concerns_cuda(reader->read_facts(), path);
}

const std::string& Survey::gpu_name(const std::string& node) {
  if (!std::exchange(gpus_read_, true)) read_gpu_names();
  return gpus_.try_emplace(node, node).first->second;
}

void Survey::read_gpu_names() {
  const std::string folder = root_.shown("driver/nvidia/gpus");
  if (skip_.contains(folder)) return;
  // A driver that hangs may not answer even there.
  step("read the driver's list of GPUs", folder);
  const auto cards = root_.list("driver/nvidia/gpus");
  if (!cards) return;
  for (const std::string& card : *cards) {
    const auto text = root_.read_file("driver/nvidia/gpus/" + card + "/information");
    if (!text) continue;
    const auto gpu = parse_gpu_information(*text);
    if (gpu) gpus_["nvidia" + std::to_string(gpu->number)] = gpu->uuid;
  }
}

std::vector<std::string> out_of_sight(const ProcDirectory& root) {
  std::vector<std::string> out;
  // PROC_PID_INIT_INO: the number of the namespace that the kernel starts with.
  const auto space = root.read_link("self/ns/pid");
  if (space && *space != "pid:[4026531836]") {
    out.emplace_back("only processes of the doctor's own PID namespace can be seen");
  }
  const auto mounts = root.read_file("self/mounts");
  if (!mounts) return out;
  for (const std::string_view line : split(*mounts, '\n')) {
    const auto fields = split(line, ' ');
    constexpr std::size_t kOptions = 3;
    if (fields.size() <= kOptions || fields[1] != root.path() || fields[2] != "proc") continue;
    for (const std::string_view option : split(fields[kOptions], ',')) {
      if (option.starts_with("hidepid=") && option != "hidepid=0" && option != "hidepid=off") {
        out.push_back("/proc is mounted with " + escape_foreign(option) +
                      ": processes of other users may be hidden");
      }
    }
  }
  return out;
}

}  // namespace cudart_doctor
