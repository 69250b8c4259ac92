/* A program under the recorder. Its arguments are done one after the other; a failure ends it with
 * 1: open FILE, global FILE, space FILE   dlopen, with RTLD_GLOBAL, dlmopen into a new namespace
 *   elsewhere FILE                       dlopen from another place in the program
 *   close                                the object that was opened last
 *   loop COUNT FILE                      open and close
 *   threads COUNT FILE                   each opens and closes a hundred times
 *   fork                                 the child does the rest, the parent waits for it
 *   alarms                               a signal each millisecond from here on
 *   close-fds                            closes all descriptors but 0 to 2
 *   fds                                  prints how many descriptors are open
 *   errno FILE                           a dlopen that works leaves errno alone
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void* opened[64];
static int count;

__attribute__((noinline)) void* open_here(const char* file, int flags) {
  void* const handle = dlopen(file, flags);
  __asm__ volatile("" ::: "memory"); /* no tail call: the return address is what is looked for */
  return handle;
}

__attribute__((noinline)) void* open_elsewhere(const char* file) {
  void* const handle = dlopen(file, RTLD_NOW);
  __asm__ volatile("" ::: "memory");
  return handle;
}

__attribute__((noinline)) void* open_in_space(const char* file) {
  void* const handle = dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
  __asm__ volatile("" ::: "memory");
  return handle;
}

static void keep(void* handle) {
  if (handle == NULL || count == 64) {
    puts(handle == NULL ? dlerror() : "too many");
    exit(1);
  }
  opened[count++] = handle;
}

static void repeat(const char* file, int times) {
  for (int i = 0; i < times; ++i) {
    void* const handle = open_here(file, RTLD_NOW);
    if (handle == NULL || dlclose(handle) != 0) exit(1);
  }
}

static void* in_thread(void* file) {
  repeat(file, 100);
  return NULL;
}

static void in_threads(const char* file, int times) {
  pthread_t threads[64];
  for (int i = 0; i < times; ++i) pthread_create(&threads[i], NULL, in_thread, (void*)file);
  for (int i = 0; i < times; ++i) pthread_join(threads[i], NULL);
}

static void on_alarm(int signal) { (void)signal; }

static void start_alarms(void) {
  struct sigaction action = {.sa_handler = on_alarm}; /* no SA_RESTART */
  const struct itimerval each = {{0, 1000}, {0, 1000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &each, NULL);
}

static int open_descriptors(void) {
  DIR* const folder = opendir("/proc/self/fd");
  int found = -3; /* ".", "..", the folder itself */
  while (readdir(folder) != NULL) ++found;
  closedir(folder);
  return found;
}

static void fork_here(void) {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const char* const verb = argv[i];
    if (strcmp(verb, "open") == 0) {
      keep(open_here(argv[++i], RTLD_NOW));
    } else if (strcmp(verb, "global") == 0) {
      keep(open_here(argv[++i], RTLD_NOW | RTLD_GLOBAL));
    } else if (strcmp(verb, "elsewhere") == 0) {
      keep(open_elsewhere(argv[++i]));
    } else if (strcmp(verb, "space") == 0) {
      keep(open_in_space(argv[++i]));
    } else if (strcmp(verb, "close") == 0) {
      if (dlclose(opened[--count]) != 0) return 1;
    } else if (strcmp(verb, "loop") == 0) {
      const int times = atoi(argv[++i]);
      repeat(argv[++i], times);
    } else if (strcmp(verb, "threads") == 0) {
      const int times = atoi(argv[++i]);
      in_threads(argv[++i], times);
    } else if (strcmp(verb, "fork") == 0) {
      fork_here();
    } else if (strcmp(verb, "alarms") == 0) {
      start_alarms();
    } else if (strcmp(verb, "close-fds") == 0) {
      for (int fd = 3; fd < 256; ++fd) close(fd);
    } else if (strcmp(verb, "fds") == 0) {
      printf("%d\n", open_descriptors());
      fflush(stdout);
    } else if (strcmp(verb, "errno") == 0) {
      errno = 4242;
      keep(open_here(argv[++i], RTLD_NOW));
      if (errno != 4242) return 1;
    } else {
      return 2;
    }
  }
  return 0;
}
