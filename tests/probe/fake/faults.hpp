// What the fakes are told to do wrong, by the environment variable CUDART_DOCTOR_FAKE: a list of
//   NAME=CODE        the function gives this code       NAME=CODE@N   from its Nth call on
//   hang:NAME        it never returns                   abort:NAME, segv:NAME   it ends the process
//   wrong:KERNEL     the kernel's first result is off   corrupt       an imported handle leads to
//   devices=N        devices that are visible (1)                     other memory
//   version=N, driver=N   versions (13000)              nosass        an image with SASS is refused
// separated by commas.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fake {

inline std::string_view setting() {
  const char* const value = std::getenv("CUDART_DOCTOR_FAKE");
  return value != nullptr ? value : "";
}

/// The text behind `key` in the list; nothing where no item begins with it.
inline std::optional<std::string> item(const std::string& key) {
  std::string_view rest = setting();
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    if (one.substr(0, key.size()) == key) return std::string(one.substr(key.size()));
  }
  return std::nullopt;
}

inline bool has(const std::string& what) { return item(what) == ""; }

inline int number(const std::string& key, int otherwise) {
  const auto text = item(key + "=");
  return text ? std::atoi(text->c_str()) : otherwise;
}

/// Called at the head of every function: its code, where it is to fail.
inline int fault(const char* name) {
  static std::map<std::string, int> calls;
  const int call = ++calls[name];
  if (has(std::string("hang:") + name)) {
    while (true) ::pause();
  }
  if (has(std::string("abort:") + name)) std::abort();
  if (has(std::string("segv:") + name)) ::raise(SIGSEGV);
  const auto text = item(std::string(name) + "=");
  if (!text) return 0;
  const auto at = text->find('@');
  if (at != std::string::npos && call < std::atoi(text->c_str() + at + 1)) return 0;
  return std::atoi(text->c_str());
}

}  // namespace fake

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))
#define FAKE_FAULT(name)                                 \
  do {                                                   \
    if (const int code = fake::fault(name)) return code; \
  } while (false)
