// Reads mapped objects, best route first: the mapped file itself (map_files), the file at its path
// when it is the mapped one, the loaded image.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/elf_look.hpp"
#include "cudart_doctor/collect/path_check.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {

class ObjectReader {
 public:
  /// Both must outlive this.
  ObjectReader(const CaptureContext& context, ProcessMemory& memory)
      : context_(context),
        memory_(memory),
        head_(std::make_unique_for_overwrite<std::byte[]>(kHeadSize)) {}

  /// Fills state, route and facts of `object`, and counts it in `counts`. Objects that are neither
  /// executable nor named like a CUDA library are counted and left alone.
  void read(LoadedObject& object, const MapsTable& maps, CaptureFacts& counts);

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
  static constexpr std::size_t kHeadSize = 32 * 1024;

  const CaptureContext& context_;
  ProcessMemory& memory_;
  std::unique_ptr<std::byte[]> head_;  ///< The first bytes of the file that is being read.
  std::string map_files_refused_;      ///< Why map_files is closed to us; asked once.
};

}  // namespace cudart_doctor
