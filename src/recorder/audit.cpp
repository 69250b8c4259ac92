// The loader's audit interface (rtld-audit(7)). No la_symbind and no la_pltenter: with them every
// call between objects would take a detour.
#include <link.h>

#include "recorder.hpp"

// In this library only what the loader looks for is visible.
#define LOADER_CALLS extern "C" __attribute__((visibility("default")))

namespace {

constinit cudart_doctor::recorder::Recorder recorder;

}  // namespace

/// Version 2 came with glibc 2.35; nothing that is used here differs.
LOADER_CALLS unsigned la_version(unsigned version) { return version < 2 ? version : 2; }

/// glibc puts the link map into the cookie before any of these is called with it.
LOADER_CALLS char* la_objsearch(const char* name, std::uintptr_t* cookie, unsigned flag) {
  // What follows are the places where the loader looks for it.
  if (flag == LA_SER_ORIG) recorder.ask(name, cudart_doctor::recorder::object_of(cookie));
  return const_cast<char*>(name);
}

LOADER_CALLS unsigned la_objopen(link_map* map, Lmid_t lmid, std::uintptr_t* cookie) {
  recorder.arrive(map, lmid, cookie);
  return 0;
}

LOADER_CALLS unsigned la_objclose(std::uintptr_t* cookie) {
  recorder.depart(cookie);
  return 0;
}

LOADER_CALLS void la_activity(std::uintptr_t*, unsigned flag) {
  if (flag == LA_ACT_CONSISTENT) recorder.settle();
}
