// dlopen, and dlsym checked by the loader's own list of objects.
#include "cudart_doctor/cuda/library.hpp"

#include <dlfcn.h>
#include <link.h>

namespace cudart_doctor {
namespace {

/// The loader's entry of the object that holds `address`; null for an address in none.
const link_map* object_of(void* address) {
  Dl_info info = {};
  void* entry = nullptr;
  if (::dladdr1(address, &info, &entry, RTLD_DL_LINKMAP) == 0) return nullptr;
  return static_cast<const link_map*>(entry);
}

std::string name_of(const link_map* object) {
  if (object == nullptr) return "unknown object";
  // The program itself has no name there.
  return *object->l_name != '\0' ? object->l_name : "the program";
}

}  // namespace

Result<Library> Library::open_with(const std::string& path, int flags) {
  void* const handle = ::dlopen(path.c_str(), flags);
  if (handle == nullptr) {
    const char* const text = ::dlerror();
    if ((flags & RTLD_NOLOAD) != 0) return fail(ErrorKind::not_found, path + " is not loaded");
    return fail(ErrorKind::malformed, text != nullptr ? text : "dlopen failed without a text");
  }
  link_map* own = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&own)) != 0 || own == nullptr) {
    return fail(ErrorKind::malformed, "the loader has no entry for " + path);
  }
  return Library(path, handle, own);
}

Result<Library> Library::open(const std::string& path) {
  return open_with(path, RTLD_NOW | RTLD_LOCAL);
}

Result<Library> Library::open_loaded(const std::string& soname) {
  return open_with(soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
}

LibrarySymbol Library::find(const char* name) const {
  void* const address = ::dlsym(handle_, name);
  if (address == nullptr) return {};
  const link_map* const object = object_of(address);
  if (object == link_map_) return {.address = address, .elsewhere = {}};
  return {.address = nullptr, .elsewhere = name_of(object)};
}

std::string Library::interposer(const char* name) const {
  void* const address = ::dlsym(RTLD_DEFAULT, name);
  if (address == nullptr) return {};
  const link_map* const object = object_of(address);
  return object == link_map_ ? std::string() : name_of(object);
}

}  // namespace cudart_doctor
