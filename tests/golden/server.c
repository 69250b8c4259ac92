// A process to record: calls itself what a server does and loads the libraries that it is given,
// the first one at the lowest address.
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

// Takes the holes between mappings, so that what is loaded next lies below `floor`.
static void fill_holes(uintptr_t floor) {
  for (size_t size = 1 << 24; size >= 4096; size >>= 4) {
    void* at = NULL;
    do {
      at = mmap(NULL, size, PROT_NONE, MAP_NORESERVE | MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    } while (at != MAP_FAILED && (uintptr_t)at > floor);
    if (at != MAP_FAILED) munmap(at, size);
  }
}

int main(int argc, char** argv) {
  static const char kTitle[] = "sglang::scheduler_TP0";
  for (int i = argc - 1; i > 0; --i) {
    struct link_map* loaded = dlopen(argv[i], RTLD_NOW);
    if (loaded == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (i > 1) fill_holes(loaded->l_addr);
  }
  // As setproctitle does it: the title lies over the arguments, the rest of them is cleared.
  char* end = argv[argc - 1] + strlen(argv[argc - 1]);
  memset(argv[0], 0, (size_t)(end - argv[0]));
  memcpy(argv[0], kTitle, sizeof kTitle);
  prctl(PR_SET_NAME, kTitle);
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
