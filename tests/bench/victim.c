// A process to look at, for `scripts/bench inspect`:
//   bench_victim LIST [TOTAL]
// opens the libraries that the file LIST names, one a line, then adds mappings until there are
// TOTAL, prints how many it has, and lives until its stdin closes, so that it never outlives the
// benchmark.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kMaxFiles = 4096 };

static long count_mappings(void) {
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return -1;
  long lines = 0;
  for (int c = getc(maps); c != EOF; c = getc(maps)) lines += c == '\n';
  fclose(maps);
  return lines;
}

static void die(const char* what) {
  perror(what);
  exit(1);
}

// Neighbours of equal protection would merge into one mapping, so protections alternate. Of the
// file-backed ones every page shows the file's first page: offsets that do not follow on keep them
// apart as well.
static void add_mappings(long wanted, const int* files, int file_count) {
  const long page_size = sysconf(_SC_PAGESIZE);
  long of_files = file_count > 0 ? wanted / 5 : 0;
  char* base = mmap(NULL, (size_t)(wanted * page_size), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) die("mmap");
  for (long i = 0; i < wanted; ++i) {
    char* page = base + i * page_size;
    int protection = i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    if (i < of_files) {
      if (mmap(page, page_size, protection, MAP_PRIVATE | MAP_FIXED, files[i % file_count], 0) ==
          MAP_FAILED)
        die("mmap");
    } else if (protection == PROT_READ && mprotect(page, page_size, PROT_READ) != 0) {
      die("mprotect");
    }
  }
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fputs("usage: bench_victim LIST [TOTAL]\n", stderr);
    return 2;
  }
  FILE* list = fopen(argv[1], "re");
  if (list == NULL) die(argv[1]);
  static int files[kMaxFiles];
  int file_count = 0;
  char path[4096];
  while (file_count < kMaxFiles && fgets(path, sizeof path, list) != NULL) {
    path[strcspn(path, "\n")] = '\0';
    if (dlopen(path, RTLD_LAZY | RTLD_LOCAL) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    files[file_count] = open(path, O_RDONLY | O_CLOEXEC);
    if (files[file_count] < 0) die(path);
    ++file_count;
  }
  fclose(list);
  long wanted = argc == 3 ? atol(argv[2]) - count_mappings() : 0;
  if (wanted > 0) add_mappings(wanted, files, file_count);
  // Open descriptors are no part of what is measured (lsof lists them).
  for (int i = 0; i < file_count; ++i) close(files[i]);
  printf("ready %ld\n", count_mappings());
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
