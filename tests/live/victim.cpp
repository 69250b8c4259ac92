// A process that loads, maps and overwrites what a test tells it to. Commands on stdin are a verb
// and an argument, each with a NUL behind it; every one is answered by a line.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::string map_file(const std::string& path, int protection) {
  const int fd = ::open(path.c_str(), O_RDONLY);
  struct stat info = {};
  if (fd < 0 || ::fstat(fd, &info) != 0) return "cannot open";
  const auto size = static_cast<std::size_t>(info.st_size);
  const void* at = ::mmap(nullptr, size, protection, MAP_PRIVATE, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? "cannot map" : "ready";
}

std::string load_from_memfd(const std::string& path) {
  const int fd = ::memfd_create("toy", 0);
  const int from = ::open(path.c_str(), O_RDONLY);
  if (fd < 0 || from < 0) return "cannot open";
  std::vector<char> bytes(1 << 20);
  const ssize_t size = ::read(from, bytes.data(), bytes.size());
  if (size <= 0 || ::write(fd, bytes.data(), static_cast<std::size_t>(size)) != size)
    return "short";
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const bool loaded = ::dlopen(name.c_str(), RTLD_NOW) != nullptr;
  ::close(from);
  return loaded ? "ready" : ::dlerror();
}

/// What setproctitle does: the variables move to the heap, their old place is overwritten.
std::string overwrite_environment(const std::string& title) {
  char* begin = environ[0];
  char* end = begin;
  std::vector<char*> moved;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    end = *variable + std::strlen(*variable) + 1;
    moved.push_back(::strdup(*variable));
  }
  moved.push_back(nullptr);
  char** table = static_cast<char**>(std::malloc(moved.size() * sizeof(char*)));
  std::memcpy(table, moved.data(), moved.size() * sizeof(char*));
  environ = table;
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  std::memcpy(begin, title.data(), title.size());
  return "ready";
}

/// The file in which an address lies, as the loader says.
std::string file_at(const void* address) {
  Dl_info info = {};
  return address != nullptr && ::dladdr(address, &info) != 0 ? info.dli_fname : "none";
}

/// Which file's cudaMalloc a loaded library calls through its slot.
std::string call_through(const std::string& path) {
  void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  void* const symbol = handle != nullptr ? ::dlsym(handle, "call_through_slot") : nullptr;
  if (symbol == nullptr) return "cannot call";
  const void* (*call)() = nullptr;
  std::memcpy(&call, &symbol, sizeof call);
  return file_at(call());
}

/// A system call filter that lets everything through.
std::string install_filter() {
  sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program = {1, &allow};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "cannot give up new privileges";
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 ? "ready" : "refused";
}

std::string obey(const std::string& verb, const std::string& argument) {
  const auto opened = [](const void* handle) {
    return handle != nullptr ? std::string("ready") : std::string(::dlerror());
  };
  if (verb == "dlopen") return opened(::dlopen(argument.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (verb == "dlopen_global") return opened(::dlopen(argument.c_str(), RTLD_NOW | RTLD_GLOBAL));
  if (verb == "dlopen_lazy") return opened(::dlopen(argument.c_str(), RTLD_LAZY | RTLD_LOCAL));
  if (verb == "call") return call_through(argument);
  if (verb == "default") return file_at(::dlsym(RTLD_DEFAULT, argument.c_str()));
  if (verb == "dlmopen") return opened(::dlmopen(LM_ID_NEWLM, argument.c_str(), RTLD_NOW));
  if (verb == "memfd") return load_from_memfd(argument);
  if (verb == "map_data") return map_file(argument, PROT_READ);
  if (verb == "map_code") return map_file(argument, PROT_READ | PROT_EXEC);
  if (verb == "title") return overwrite_environment(argument);
  if (verb == "setenv") return ::setenv(argument.c_str(), "changed", 1) == 0 ? "ready" : "failed";
  if (verb == "seccomp") return install_filter();
  if (verb == "exit") std::exit(0);
  return "unknown verb";
}

std::string read_field() {
  std::string field;
  for (int c = std::getchar(); c != 0; c = std::getchar()) {
    if (c == EOF) std::exit(0);
    field += static_cast<char>(c);
  }
  return field;
}

}  // namespace

int main() {
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    const std::string verb = read_field();
    const std::string argument = read_field();
    std::puts(obey(verb, argument).c_str());
    std::fflush(stdout);
  }
}
