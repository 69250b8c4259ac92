// The floor that `scripts/bench probe` measures against: the least that a probe of one CUDA runtime
// has to do. Two processes at once, an exporter and an importer, each with a context of its own:
//   probe_floor RUNTIME.so FATBIN PTX [KERNEL]   ->   "MILLISECONDS"
// KERNEL (mhc_post, or one with its parameters) is launched through the runtime, through the Driver
// API, and from PTX; then a memory and an event handle go over, twice. Nothing is checked but that
// every call answers 0 and that the bytes arrive.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  kBytes = 1 << 20,
  kHidden = 64,  // one token of mhc_post, which reads and writes less than 2 KiB
  kThreads = 128,
  kHandle = 64,  // both kinds of CUDA IPC handle
  kRounds = 2,
  kDeadline = 60,  // seconds
  kToHost = 2,     // cudaMemcpyDeviceToHost
  kLazyPeer = 1,   // cudaIpcMemLazyEnablePeerAccess
  kEventFlags = 6  // without timing, for other processes
};

struct handle {
  char bytes[kHandle];
};
struct grid {
  unsigned x, y, z;
};
struct fat_binary {
  int magic;
  int version;
  const void* data;
  void* file;
};

// Declarations of our own: no toolkit is needed to build this.
static struct {
  int (*set_device)(int);
  int (*free)(void*);
  int (*malloc)(void**, size_t);
  int (*memset)(void*, int, size_t);
  int (*memcpy)(void*, const void*, size_t, int);
  int (*synchronize)(void);
  int (*launch)(const void*, struct grid, struct grid, void**, size_t, void*);
  int (*get_memory)(struct handle*, void*);
  int (*open_memory)(void**, struct handle, unsigned);
  int (*close_memory)(void*);
  int (*create_event)(void**, unsigned);
  int (*record_event)(void*, void*);
  int (*get_event)(struct handle*, void*);
  int (*open_event)(void**, struct handle);
  int (*wait_event)(void*);
  int (*destroy_event)(void*);
  void** (*register_binary)(const void*);
  void (*register_function)(void**, const void*, char*, const char*, int, void*, void*, void*,
                            void*, int*);
  void (*register_end)(void**);
} cuda;

static struct {
  int (*load)(void**, const void*);
  int (*load_options)(void**, const void*, unsigned, void*, void*);
  int (*find)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*synchronize)(void);
  int (*unload)(void*);
} driver;

static const char* side = "probe_floor";

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", side);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(1);
}

static void check(const char* call, int code) {
  if (code != 0) die("%s: %d", call, code);
}
#define CHECK(call) check(#call, call)

static void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die("%s", dlerror());
  return library;
}

// POSIX keeps functions and data pointers alike; ISO C has no cast between them.
static void find_call(void* library, const char* name, void* slot) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL) die("%s", dlerror());
  memcpy(slot, &symbol, sizeof symbol);
}

static void bind_runtime(const char* path) {
  void* library = open_library(path);
  find_call(library, "cudaSetDevice", &cuda.set_device);
  find_call(library, "cudaFree", &cuda.free);
  find_call(library, "cudaMalloc", &cuda.malloc);
  find_call(library, "cudaMemset", &cuda.memset);
  find_call(library, "cudaMemcpy", &cuda.memcpy);
  find_call(library, "cudaDeviceSynchronize", &cuda.synchronize);
  find_call(library, "cudaLaunchKernel", &cuda.launch);
  find_call(library, "cudaIpcGetMemHandle", &cuda.get_memory);
  find_call(library, "cudaIpcOpenMemHandle", &cuda.open_memory);
  find_call(library, "cudaIpcCloseMemHandle", &cuda.close_memory);
  find_call(library, "cudaEventCreateWithFlags", &cuda.create_event);
  find_call(library, "cudaEventRecord", &cuda.record_event);
  find_call(library, "cudaIpcGetEventHandle", &cuda.get_event);
  find_call(library, "cudaIpcOpenEventHandle", &cuda.open_event);
  find_call(library, "cudaEventSynchronize", &cuda.wait_event);
  find_call(library, "cudaEventDestroy", &cuda.destroy_event);
  find_call(library, "__cudaRegisterFatBinary", &cuda.register_binary);
  find_call(library, "__cudaRegisterFunction", &cuda.register_function);
  find_call(library, "__cudaRegisterFatBinaryEnd", &cuda.register_end);
}

static void bind_driver(void) {
  void* library = open_library("libcuda.so.1");
  find_call(library, "cuModuleLoadData", &driver.load);
  find_call(library, "cuModuleLoadDataEx", &driver.load_options);
  find_call(library, "cuModuleGetFunction", &driver.find);
  find_call(library, "cuLaunchKernel", &driver.launch);
  find_call(library, "cuCtxSynchronize", &driver.synchronize);
  find_call(library, "cuModuleUnload", &driver.unload);
}

// With a NUL behind it, which PTX needs.
static char* read_file(const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) die("%s: cannot open", path);
  size_t size = (size_t)info.st_size;
  char* bytes = malloc(size + 1);
  if (bytes == NULL) die("no memory");
  for (size_t done = 0; done < size;) {
    ssize_t got = read(fd, bytes + done, size - done);
    if (got <= 0) die("%s: cannot read", path);
    done += (size_t)got;
  }
  bytes[size] = '\0';
  close(fd);
  return bytes;
}

static void tell(int peer, const void* bytes, size_t size) {
  if (send(peer, bytes, size, MSG_NOSIGNAL) != (ssize_t)size) die("the other process is gone");
}

static void hear(int peer, void* bytes, size_t size) {
  if (recv(peer, bytes, size, 0) != (ssize_t)size) die("the other process is gone");
}

static void make_context(const char* runtime) {
  bind_runtime(runtime);
  CHECK(cuda.set_device(0));
  CHECK(cuda.free(NULL));
}

static void expect(const void* device, int byte) {
  static unsigned char host[kBytes];
  CHECK(cuda.memcpy(host, device, kBytes, kToHost));
  for (int i = 0; i < kBytes; ++i) {
    if (host[i] != byte) die("byte %d is %02x and not %02x", i, host[i], (unsigned)byte);
  }
}

static void launch_by_driver(void* module, const char* kernel, void** arguments) {
  void* function = NULL;
  CHECK(driver.find(&function, module, kernel));
  CHECK(driver.launch(function, 1, 1, 1, kThreads, 1, 1, 0, NULL, arguments, NULL));
  CHECK(driver.synchronize());
  CHECK(driver.unload(module));
}

static void run_kernels(char** files, char* buffer) {
  const char* kernel = files[2];
  enum { kPart = 4096 };  // more than any of the kernel's tensors holds
  char* tensors[5];
  for (int i = 0; i < 5; ++i) tensors[i] = buffer + (ptrdiff_t)i * kPart;
  int hidden = kHidden;
  void* arguments[] = {&tensors[0], &tensors[1], &tensors[2], &tensors[3], &tensors[4], &hidden};

  // The runtime keeps both: the wrapper, and the address by which the kernel is launched.
  static struct fat_binary wrapper = {0x466243b1, 1, NULL, NULL};
  static char stub;
  wrapper.data = read_file(files[0]);
  void** binary = cuda.register_binary(&wrapper);
  char name[256];
  snprintf(name, sizeof name, "%s", kernel);
  cuda.register_function(binary, &stub, name, kernel, -1, NULL, NULL, NULL, NULL, NULL);
  cuda.register_end(binary);
  const struct grid one = {1, 1, 1};
  const struct grid block = {kThreads, 1, 1};
  CHECK(cuda.launch(&stub, one, block, arguments, 0, NULL));
  CHECK(cuda.synchronize());

  bind_driver();
  void* module = NULL;
  CHECK(driver.load(&module, wrapper.data));
  launch_by_driver(module, kernel, arguments);
  char* ptx = read_file(files[1]);
  CHECK(driver.load_options(&module, ptx, 0, NULL, NULL));
  launch_by_driver(module, kernel, arguments);
  free(ptx);
}

static int byte_of(int round) { return 0x51 + round; }

static void export_round(int peer, void* buffer, int round) {
  struct handle handle;
  char done = 0;
  CHECK(cuda.get_memory(&handle, buffer));
  tell(peer, &handle, sizeof handle);
  hear(peer, &done, 1);
  expect(buffer, byte_of(round));
  void* event = NULL;
  CHECK(cuda.create_event(&event, kEventFlags));
  CHECK(cuda.record_event(event, NULL));
  CHECK(cuda.get_event(&handle, event));
  tell(peer, &handle, sizeof handle);
  hear(peer, &done, 1);
  CHECK(cuda.destroy_event(event));
}

static void import_round(int peer, int round) {
  struct handle handle;
  void* memory = NULL;
  hear(peer, &handle, sizeof handle);
  CHECK(cuda.open_memory(&memory, handle, kLazyPeer));
  CHECK(cuda.memset(memory, byte_of(round), kBytes));
  CHECK(cuda.synchronize());
  CHECK(cuda.close_memory(memory));
  tell(peer, "", 1);
  hear(peer, &handle, sizeof handle);
  void* event = NULL;
  CHECK(cuda.open_event(&event, handle));
  CHECK(cuda.wait_event(event));
  CHECK(cuda.destroy_event(event));
  tell(peer, "", 1);
}

static void export_all(int peer, const char* runtime, char** files) {
  make_context(runtime);
  void* buffer = NULL;
  CHECK(cuda.malloc(&buffer, kBytes));
  CHECK(cuda.memset(buffer, 0, kBytes));
  expect(buffer, 0);
  run_kernels(files, buffer);
  for (int round = 0; round < kRounds; ++round) export_round(peer, buffer, round);
  CHECK(cuda.free(buffer));
}

static void import_all(int peer, const char* runtime) {
  make_context(runtime);
  for (int round = 0; round < kRounds; ++round) import_round(peer, round);
}

// A process that executed the program anew: CUDA does not survive a fork.
static pid_t start(const char* role, int peer, char** files) {
  pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char number[16];
  snprintf(number, sizeof number, "%d", peer);
  fcntl(peer, F_SETFD, 0);
  execl("/proc/self/exe", "probe_floor", role, number, files[0], files[1], files[2], files[3],
        (char*)NULL);
  die("cannot start again");
}

static int run_child(char** argv) {
  enum { kRole = 1, kPeer, kRuntime, kFiles };
  side = argv[kRole] + 2;  // "--exporter"
  alarm(kDeadline);
  const int peer = atoi(argv[kPeer]);
  if (strcmp(side, "exporter") == 0) {
    export_all(peer, argv[kRuntime], argv + kFiles);
  } else {
    import_all(peer, argv[kRuntime]);
  }
  _exit(0);  // without the runtime's own clearing up: the kernel does it anyway
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  if (argc == 7 && (strcmp(argv[1], "--exporter") == 0 || strcmp(argv[1], "--importer") == 0)) {
    return run_child(argv);
  }
  if (argc < 4 || argc > 5) {
    fputs("usage: probe_floor RUNTIME.so FATBIN PTX [KERNEL]\n", stderr);
    return 2;
  }
  char* files[] = {argv[1], argv[2], argv[3], argc == 5 ? argv[4] : (char[]){"mhc_post"}};
  const double begin = now_ms();
  setenv("CUDA_CACHE_DISABLE", "1", 1);  // or the second run would not compile the PTX
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) die("socketpair");
  const pid_t children[] = {start("--exporter", ends[0], files),
                            start("--importer", ends[1], files)};
  close(ends[0]);
  close(ends[1]);
  int failed = 0;
  for (int i = 0; i < 2; ++i) {
    int status = 0;
    if (waitpid(children[i], &status, 0) != children[i]) die("waitpid");
    if (WIFSIGNALED(status)) fprintf(stderr, "probe_floor: signal %d\n", WTERMSIG(status));
    if (status != 0) failed = 1;
  }
  if (failed) return 1;
  printf("%.2f\n", now_ms() - begin);
  return 0;
}
