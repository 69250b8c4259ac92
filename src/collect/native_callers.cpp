#include "cudart_doctor/collect/native_callers.hpp"

#include <map>
#include <vector>

#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/cached_source.hpp"
#include "cudart_doctor/sys/file_source.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

void name_in(const TargetFiles& files, const std::string& path,
             const std::vector<NativeCaller*>& callers) {
  const auto found = files.find(path);
  if (!found) return;
  auto file = files.open_regular(*found, path);
  if (!file) return;
  FileSource source(std::move(file->fd), file->info.size);
  CachedSource cached(source, kBlock);
  auto reader = ElfReader::open(cached, ElfImage::file);
  if (!reader) return;
  for (NativeCaller* const caller : callers) {
    // A return address may lie behind the last instruction of its function.
    if (caller->offset == 0) continue;
    if (auto name = reader->function_at(caller->offset - 1)) caller->symbol = std::move(*name);
  }
}

}  // namespace

void name_callers(Recording& recording, const TargetFiles& files) {
  std::map<std::string, std::vector<NativeCaller*>> by_object;
  for (LoadEvent& event : recording.events) {
    if (!event.caller || !event.caller->symbol.empty()) continue;
    if (by_object.size() == kMostCallerFiles && !by_object.contains(event.caller->object)) continue;
    by_object[event.caller->object].push_back(&*event.caller);
  }
  for (const auto& [path, callers] : by_object) name_in(files, path, callers);
}

}  // namespace cudart_doctor
