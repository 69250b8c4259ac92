// Runs a command and prints what it took:
//   bench_measure [-i FILE] [-o FILE] COMMAND [ARG...]
//   ->   "WALL_NANOSECONDS CPU_NANOSECONDS PEAK_RSS_KIB EXIT_STATUS"
// CPU time is user's and kernel's, of the command and of the children that it waited for; the peak
// is of the largest of them. A program of its own because the kernel's peak RSS of a child counts
// the image that it was forked from as well: started from Python, everything would seem to need
// Python's memory. 128 + n is death by signal n.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long nanoseconds(struct timeval t) {
  return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int main(int argc, char** argv) {
  (void)argc;
  const char* input = "/dev/null";
  const char* output = "/dev/null";
  char** command = argv + 1;
  for (; command[0] && command[1] && command[0][0] == '-'; command += 2) {
    if (strcmp(command[0], "-i") == 0) {
      input = command[1];
    } else if (strcmp(command[0], "-o") == 0) {
      output = command[1];
    } else {
      break;
    }
  }
  if (*command == NULL) {
    fputs("usage: bench_measure [-i FILE] [-o FILE] COMMAND [ARG...]\n", stderr);
    return 2;
  }
  posix_spawn_file_actions_t io;
  posix_spawn_file_actions_init(&io);
  posix_spawn_file_actions_addopen(&io, 0, input, O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&io, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&io, 2, "/dev/null", O_WRONLY, 0);

  pid_t pid = 0;
  long long start = now();
  int error = posix_spawnp(&pid, *command, &io, NULL, command, environ);
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", *command, strerror(error));
    return 1;
  }
  int status = 0;
  struct rusage usage;
  if (wait4(pid, &status, 0, &usage) != pid) return 1;
  long long wall = now() - start;
  int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  printf("%lld %lld %ld %d\n", wall, nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
         usage.ru_maxrss, code);
  return 0;
}
