// hostile RUNTIME COPY SPARE: a process that does not want to be understood. It holds two copies of a
// runtime, and until it is killed: maps and unmaps a third some ten thousand times a second, bends the
// loader's list into cycles and lies, and rewrites the ELF headers of its libraries in memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *spare;

static void *map_and_unmap(void *unused) {
  (void)unused;
  int fd = open(spare, O_RDONLY);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) abort();
  for (;;) {
    void *place = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (place != MAP_FAILED) munmap(place, (size_t)info.st_size);
  }
}

static void *bend_the_list(void *unused) {
  (void)unused;
  struct link_map *first = _r_debug.r_map;
  struct link_map *last = first;
  while (last->l_next != NULL) last = last->l_next;
  char *name = last->l_name;
  ElfW(Addr) bias = last->l_addr;
  for (uint64_t turn = 0;; ++turn) {
    switch (turn % 5) {
      case 0: last->l_next = first; break;                             // a cycle
      case 1: last->l_next = (struct link_map *)(uintptr_t)(turn * 4096); break;  // nowhere
      case 2: last->l_name = (char *)(uintptr_t)turn; break;           // no text
      case 3: last->l_addr = bias + turn * 4096; break;                // elsewhere
      default: last->l_name = "\x1b[2J\x1b]0;owned\a\n/x"; break;      // for the terminal
    }
    for (volatile int wait = 0; wait < 2000; ++wait) {}
    last->l_next = NULL;
    last->l_name = name;
    last->l_addr = bias;
  }
}

static void *rewrite_headers(void *start) {
  ElfW(Ehdr) *header = start;
  if (mprotect(start, 4096, PROT_READ | PROT_WRITE) != 0) abort();
  ElfW(Ehdr) before;
  memcpy(&before, header, sizeof before);
  for (unsigned turn = 0;; ++turn) {
    header->e_phnum = (uint16_t)(turn * 7919);
    header->e_phoff = (uint64_t)turn << (turn % 60);
    header->e_machine = (uint16_t)turn;
    memcpy(header, &before, sizeof before);
  }
}

static void start(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) abort();
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  spare = argv[3];
  for (int i = 1; i < 3; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW);
    if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    struct link_map *map = NULL;
    dlinfo(library, RTLD_DI_LINKMAP, &map);
    start(rewrite_headers, (void *)map->l_addr);
  }
  start(map_and_unmap, NULL);
  start(bend_the_list, NULL);
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
