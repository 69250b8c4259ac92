// A dlopened object and its names, looked up so that another object's name is never taken for its
// own: dlsym on a handle also searches what the object needs.
#pragma once

#include <string>
#include <utility>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// Where a name was found.
struct LibrarySymbol {
  void* address = nullptr;  ///< Inside this object; null: it does not define the name.
  std::string elsewhere;    ///< "/opt/hook.so": a dependency answers instead; foreign bytes.
};

/// Never closed: what a CUDA library started does not survive it.
class Library {
 public:
  /// dlopen, local, everything bound at once. Errors: malformed, with the loader's text.
  static Result<Library> open(const std::string& path);
  /// The same, but only where an object of that soname is loaded already. Errors: not_found.
  static Result<Library> open_loaded(const std::string& soname);

  /// `name` as this object defines it.
  [[nodiscard]] LibrarySymbol find(const char* name) const;
  /// The object in global scope (a preloaded one, say) that answers `name` ahead of this one;
  /// "" where none does.
  [[nodiscard]] std::string interposer(const char* name) const;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  Library(std::string path, void* handle, const void* link_map)
      : path_(std::move(path)), handle_(handle), link_map_(link_map) {}
  static Result<Library> open_with(const std::string& path, int flags);

  std::string path_;
  void* handle_ = nullptr;
  const void* link_map_ = nullptr;  ///< The loader's entry of this object: its identity.
};

}  // namespace cudart_doctor
