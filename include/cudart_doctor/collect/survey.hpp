// A glance at many processes: which of them hold something of CUDA. Each distinct file is asked
// once, whoever maps it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/formats/mapped_files.hpp"
#include "cudart_doctor/model/tree.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// Decisions of the pure layers.
struct SurveyRules {
  std::function<bool(std::string_view path)> is_cuda_name;
  /// Of a file's cheap facts: is a process that maps it to be looked at in full?
  std::function<bool(const ElfFacts& elf, std::string_view path)> concerns_cuda;
};

/// How much of a process without CUDA is worth knowing.
enum class SurveyDepth : std::uint8_t {
  count,  ///< Name, parent and start time.
  facts,  ///< Command line, PIDs inside, user.
};

struct SurveyOptions {
  SurveyDepth depth = SurveyDepth::count;
  std::uint64_t salt = 0;  ///< Of likeness_of.
  StepCall progress;
};

/// Keeps what it learned of files for the next process. Device, inode and path tell a file: while
/// it is mapped its inode is not given to another one.
class Survey {
 public:
  Survey(ProcDirectory root, SurveyOptions options, SurveyRules rules)
      : root_(std::move(root)), options_(std::move(options)), rules_(std::move(rules)) {}

  /// What is known of `pid`. State `unjudged`: it is to be looked at in full. What stands in `skip`
  /// did not answer before, and is not touched again.
  NodeProcess look(std::int64_t pid, const std::set<std::string>& skip);

 private:
  void look_at_maps(const ProcDirectory& process, NodeProcess& out);
  bool concerns_cuda(const ProcDirectory& process, const MappedFile& file);
  bool ask_file(const ProcDirectory& process, const MappedFile& file);
  const std::string& gpu_name(const std::string& node);
  void read_gpu_names();
  void step(std::string_view stage, std::string_view path) const {
    if (options_.progress) options_.progress(stage, path);
  }

  ProcDirectory root_;
  SurveyOptions options_;
  std::set<std::string> skip_;
  std::set<std::string> silent_;  ///< silent_mounts of these.
  SurveyRules rules_;
  struct KnownFile {
    std::string path;
    bool concerns_cuda = false;
  };
  std::map<FileKey, std::vector<KnownFile>> known_;
  std::map<std::string, std::string> gpus_;  ///< "nvidia0" -> UUID, or itself.
  bool gpus_read_ = false;
};

/// What keeps processes of the node out of sight: another PID namespace, hidepid. Printable.
std::vector<std::string> out_of_sight(const ProcDirectory& root);

}  // namespace cudart_doctor
