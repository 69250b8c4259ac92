// Names of the functions that asked for a load, against what the loader's own dladdr says.
#include <dlfcn.h>

#include <array>

#include "cudart_doctor/collect/native_callers.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

TargetFiles own_files() {
  const auto own = ProcDirectory::open("/proc/self");
  REQUIRE(own);
  auto files = TargetFiles::open(*own);
  REQUIRE(files);
  return std::move(*files);
}

LoadEvent called_from(const char* object, std::uint64_t offset) {
  LoadEvent event;
  event.caller = NativeCaller{object, offset, ""};
  return event;
}

}  // namespace

TEST_CASE("a caller inside an exported function has its name") {
  Recording recording;
  std::vector<void*> functions;
  for (const char* name : {"qsort", "getaddrinfo", "regexec", "fnmatch", "glob", "strftime"}) {
    void* const function = ::dlsym(RTLD_DEFAULT, name);
    Dl_info info{};
    REQUIRE(function != nullptr);
    REQUIRE(::dladdr(function, &info) != 0);
    const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(function) -
                                                   static_cast<const char*>(info.dli_fbase));
    // Behind the first instruction, as a return address is.
    recording.events.push_back(called_from(info.dli_fname, offset + 5));
    functions.push_back(function);
  }
  name_callers(recording, own_files());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const std::string& symbol = recording.events[i].caller->symbol;
    INFO(symbol);
    // Several names for one function are one function.
    Dl_info info{};
    void* const found = ::dlsym(RTLD_DEFAULT, symbol.c_str());
    CHECK(found == functions[i]);
    CHECK(::dladdr(functions[i], &info) != 0);
  }
}

TEST_CASE(
    "a caller that no exported function holds, or that cannot be read, stays without a name") {
  Recording recording;
  recording.events = {called_from("/proc/self/exe", 1), called_from("/no/such/file.so", 4096),
                      called_from("/dev/zero", 64), called_from("relative.so", 64), LoadEvent{}};
  name_callers(recording, own_files());
  for (const LoadEvent& event : recording.events) {
    if (event.caller) CHECK(event.caller->symbol.empty());
  }
}
