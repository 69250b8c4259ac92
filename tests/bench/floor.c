// The floor that `scripts/bench inspect` measures against: the least that any inspection of a
// process has to do, which is to read its maps once and the first 64 KiB of every distinct file
// mapped there.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kHead = 64 * 1024, kSlots = 1 << 16 };  // slots: far more than any process maps files

struct buffer {
  char* data;
  size_t size;
};

static struct buffer read_all(int fd) {
  struct buffer text = {NULL, 0};
  size_t capacity = 0;
  for (;;) {
    if (capacity - text.size < 64 * 1024) {
      capacity = capacity == 0 ? 256 * 1024 : capacity * 2;
      text.data = realloc(text.data, capacity);
      if (text.data == NULL) exit(1);
    }
    ssize_t got = read(fd, text.data + text.size, capacity - text.size - 1);
    if (got < 0) exit(1);
    if (got == 0) break;
    text.size += (size_t)got;
  }
  text.data[text.size] = '\0';
  return text;
}

static void read_head(const char* path) {
  static char head[kHead];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;  // deleted, or of another mount namespace: the floor does without
  if (pread(fd, head, sizeof head, 0) < 0) exit(1);
  close(fd);
}

// True the first time that a key is seen. A full table would say "new" for ever, which only makes
// the floor higher.
static int is_new(uint64_t key) {
  static uint64_t seen[kSlots];
  uint64_t slot = (key * 0x9e3779b97f4a7c15U) % kSlots;
  for (int tries = 0; tries < kSlots; ++tries, slot = (slot + 1) % kSlots) {
    if (seen[slot] == key) return 0;
    if (seen[slot] == 0) {
      seen[slot] = key;
      return 1;
    }
  }
  return 1;
}

// Calls visit once for each distinct file of the maps text, which is cut up on the way.
static void each_file(char* text, void (*visit)(const char*)) {
  for (char* line = text; *line != '\0';) {
    char* end = strchr(line, '\n');
    if (end == NULL) break;
    *end = '\0';
    // lo-hi perms offset major:minor inode path
    char* field = line;
    for (int blanks = 0; blanks < 3 && field != NULL; ++blanks) {
      field = strchr(field, ' ');
      if (field != NULL) ++field;
    }
    if (field != NULL) {
      uint64_t major = strtoull(field, &field, 16);
      uint64_t minor = strtoull(field + 1, &field, 16);
      uint64_t inode = strtoull(field, &field, 10);
      char* path = strchr(field, '/');
      if (inode != 0 && path != NULL && is_new(inode ^ major << 52 ^ minor << 40)) visit(path);
    }
    line = end + 1;
  }
}

static void print(const char* path) { puts(path); }

int main(int argc, char** argv) {
  if (argc == 2 &&
      strcmp(argv[1], "--objects") == 0) {  // paths, one a line, on stdin: the reads alone
    char* text = read_all(STDIN_FILENO).data;
    for (char* path = strtok(text, "\n"); path != NULL; path = strtok(NULL, "\n")) read_head(path);
    return 0;
  }
  int list =
      argc == 3 && strcmp(argv[1], "--list") == 0;  // print the files instead of reading them
  if (argc != 2 && !list) {
    fputs("usage: bench_floor PID | --list PID | --objects <PATHS\n", stderr);
    return 2;
  }
  char maps[64];
  snprintf(maps, sizeof maps, "/proc/%s/maps", argv[argc - 1]);
  int fd = open(maps, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    perror(maps);
    return 1;
  }
  each_file(read_all(fd).data, list ? print : read_head);
  return 0;
}
