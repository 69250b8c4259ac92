// A library whose constructor closes what it did not open, and prints.
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void be_rude(void) {
  for (int fd = 3; fd < 100; ++fd) close(fd);
  puts("hello from a constructor");
  fflush(stdout);
}
