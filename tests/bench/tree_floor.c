// The floor that `scripts/bench tree` measures against: the least that any look at a whole node has
// to do, which is to read the maps of every process once.
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

// Bytes of one process's maps; 0 where it has none, or has ended.
static unsigned long long read_maps(const char* pid) {
  static char buffer[64 * 1024];
  char path[64];
  snprintf(path, sizeof path, "/proc/%.16s/maps", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  unsigned long long size = 0;
  for (ssize_t got = read(fd, buffer, sizeof buffer); got > 0;
       got = read(fd, buffer, sizeof buffer)) {
    size += (unsigned long long)got;
  }
  close(fd);
  return size;
}

int main(void) {
  DIR* proc = opendir("/proc");
  if (proc == NULL) {
    perror("/proc");
    return 1;
  }
  unsigned long long size = 0;
  unsigned long processes = 0;
  for (struct dirent* entry = readdir(proc); entry != NULL; entry = readdir(proc)) {
    if (!isdigit((unsigned char)entry->d_name[0])) continue;
    size += read_maps(entry->d_name);
    ++processes;
  }
  closedir(proc);
  printf("%lu processes, %llu bytes\n", processes, size);
  return 0;
}
