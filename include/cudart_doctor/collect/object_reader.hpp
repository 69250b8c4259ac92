// Reads mapped objects, best route first: the mapped file itself (map_files), the file at its path
// when it is the mapped one, the loaded image.
// One reader a thread (docs/adr/0005).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/elf_look.hpp"
#include "cudart_doctor/collect/path_check.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {

/// What reading one object adds to the counts of a capture.
struct ReadOutcome {
  bool is_read = false;  ///< It has ELF facts.
  bool not_elf = false;
  bool static_searched = false;
  bool static_skipped = false;
  std::string unread;                  ///< "PATH: reason"; empty where it was read or is no ELF.
  Fact<std::vector<SlotPlace>> slots;  ///< Of ElfLook.
};

/// Adds the outcome of one object to `counts`.
void count(CaptureFacts& counts, ReadOutcome outcome);

class ObjectReader {
 public:
  /// Both must outlive this.
  ObjectReader(const CaptureContext& context, ProcessMemory& memory)
      : context_(context),
        memory_(memory),
        head_(std::make_unique_for_overwrite<std::byte[]>(kHeadSize)) {}

  /// Fills state, route and facts of `object`. Objects that are neither executable nor named like a
  /// CUDA library are left alone.
  ReadOutcome read(LoadedObject& object, const MapsTable& maps);
  /// What is known of map_files: the first file that is tried tells.
  struct Route {
    bool open = false;    ///< A file was opened there.
    std::string refused;  ///< Why map_files is closed to us; asked once.
  };
  [[nodiscard]] const Route& route() const { return map_files_; }
  [[nodiscard]] bool knows_route() const { return map_files_.open || !map_files_.refused.empty(); }
  /// Takes over what another reader knows.
  void learn(const Route& route) { map_files_ = route; }

 private:
  struct Bytes {
    std::optional<OpenedFile> file;
    ReadRoute route = ReadRoute::none;
    std::string note;      ///< Why a better route was not taken.
    bool refused = false;  ///< It is no regular file and was not opened; `note` says what it is.
  };
  PathCheck examine_paths(LoadedObject& object);
  Bytes open_bytes(const LoadedObject& object, const MapsTable& maps, const PathCheck& check);
  Result<OpenedFile> open_map_file(const Mapping& row, const PathCheck& check);
  Result<OpenedFile> open_path(const LoadedObject& object, const MapsTable& maps,
                               const PathCheck& check);
  ElfLook look_at_image(const LoadedObject& object, const MapsTable& maps);
  void note_other_file(LoadedObject& object);

  /// Most libraries have their tables here, and small ones lie here as a whole.
  static constexpr std::size_t kHeadSize = std::size_t{32} * 1024;

  const CaptureContext& context_;
  ProcessMemory& memory_;
  std::unique_ptr<std::byte[]> head_;  ///< The first bytes of the file that is being read.
  Route map_files_;
};

}  // namespace cudart_doctor
