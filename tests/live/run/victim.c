// What the tests of `run` start: `victim VERB ARG...` does one thing and says so on stdout.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static void say(const char* text) {
  if (write(1, text, strlen(text)) < 0) _exit(99);
}

/// Waits for the end of stdin.
static void wait_for_word(void) {
  char byte;
  while (read(0, &byte, 1) < 0 && errno == EINTR) {
  }
}

/// All that a process inherits, one a line.
static int tell_state(void) {
  sigset_t mask;
  sigprocmask(SIG_BLOCK, NULL, &mask);
  for (int number = 1; number < 65; ++number) {
    struct sigaction action;
    if (sigismember(&mask, number) == 1) printf("blocked %d\n", number);
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
      printf("ignored %d\n", number);
    }
  }
  for (int fd = 0; fd < 1024; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf("open %d\n", fd);
  }
  int death = 0;
  prctl(PR_GET_PDEATHSIG, &death);
  struct rlimit stack;
  getrlimit(RLIMIT_STACK, &stack);
  printf("pdeathsig %d\npgid %d\nsid %d\nnice %d\nstack %llu\n", death, getpgrp(), getsid(0),
         nice(0), (unsigned long long)stack.rlim_cur);
  return 0;
}

static int tell_environment(void) {
  for (char** variable = environ; *variable != NULL; ++variable) printf("%s\n", *variable);
  return 0;
}

static volatile sig_atomic_t seen[65];
static volatile sig_atomic_t values;

static void count(int number, siginfo_t* info, void* context) {
  (void)context;
  seen[number] = seen[number] + 1;
  if (info->si_code == SI_QUEUE) values = info->si_value.sival_int;
}

static void watch(int number) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = count;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(number, &action, NULL);
}

/// Counts signals until stdin ends: then "NUMBER COUNT" a line.
static int count_signals(void) {
  for (int number = 1; number < 65; ++number) watch(number);
  signal(SIGTSTP, SIG_DFL);
  say("ready\n");
  wait_for_word();
  for (int number = 1; number < 65; ++number) {
    if (seen[number] != 0) printf("%d %d\n", number, (int)seen[number]);
  }
  if (values != 0) printf("value %d\n", (int)values);
  puts("done");
  return 0;
}

static void* leave_process(void* argument) {
  pthread_join(*(pthread_t*)argument, NULL);
  exit(23);
}

static void* exit_at_once(void* argument) {
  (void)argument;
  _exit(24);
}

static void* execute(void* argument) {
  char* const* words = argument;
  execv(words[0], words);
  return NULL;
}

/// One way to end, after a word on stdin.
static int end_by(const char* how, char** rest) {
  pthread_t thread;
  pthread_t self = pthread_self();
  say("ready\n");
  wait_for_word();
  if (strcmp(how, "return") == 0) return 3;
  if (strcmp(how, "exit") == 0) exit(4);
  if (strcmp(how, "_exit") == 0) _exit(5);
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "segv") == 0) *(volatile int*)8 = 1;
  if (strcmp(how, "term") == 0) raise(SIGTERM);
  if (strcmp(how, "thread_exit") == 0) {
    pthread_create(&thread, NULL, exit_at_once, NULL);
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "leader_leaves") == 0) {
    pthread_create(&thread, NULL, leave_process, &self);
    pthread_exit(NULL);
  }
  if (strcmp(how, "exec") == 0) execv(rest[0], rest);
  if (strcmp(how, "thread_exec") == 0) {
    pthread_create(&thread, NULL, execute, rest);
    pthread_join(thread, NULL);
  }
  if (strcmp(how, "pause") == 0) {
    for (;;) pause();
  }
  return 98;
}

static void* add_up(void* argument) {
  unsigned long long sum = 0;
  for (unsigned long long i = 0; i < 2000000; ++i) sum += i * i;
  *(unsigned long long*)argument = sum;
  return NULL;
}

static volatile sig_atomic_t ticks;
static void tick(int number) {
  (void)number;
  ticks = ticks + 1;
}

/// 200 threads add up while a timer interrupts the process a thousand times a second.
static int many_threads(void) {
  enum { kThreads = 200 };
  static pthread_t threads[kThreads];
  static unsigned long long sums[kThreads];
  struct itimerval timer = {{0, 1000}, {0, 1000}};
  signal(SIGALRM, tick);
  setitimer(ITIMER_REAL, &timer, NULL);
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_create(&threads[i], NULL, add_up, &sums[i]) != 0) return 97;
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) {
    if (sums[i] != sums[0]) return 96;
  }
  memset(&timer, 0, sizeof timer);
  setitimer(ITIMER_REAL, &timer, NULL);
  printf("sum %llu ticks %s\n", sums[0], ticks > 10 ? "many" : "few");
  return 0;
}

/// A child that outlives its parent: prints its PID, waits for the end of stdin.
static int leave_orphan(void) {
  const pid_t child = fork();
  if (child == 0) {
    wait_for_word();
    _exit(0);
  }
  printf("%d\n", (int)child);
  return 0;
}

/// Makes children by fork, by vfork and from a thread; each executes `words`.
static void* fork_in_thread(void* argument) {
  char* const* words = argument;
  const pid_t child = fork();
  if (child == 0) {
    execv(words[0], words);
    _exit(95);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return NULL;
}

static int make_children(char** words) {
  pthread_t thread;
  fork_in_thread(words);
  const pid_t child = vfork();
  if (child == 0) {
    execv(words[0], words);
    _exit(95);
  }
  int status = 0;
  waitpid(child, &status, 0);
  pthread_create(&thread, NULL, fork_in_thread, words);
  pthread_join(thread, NULL);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 94;
}

/// Tells the size of the terminal that stdout is, at the start and once it is another.
static int watch_window(void) {
  struct winsize first;
  struct winsize now;
  sigset_t set;
  int number;
  if (ioctl(1, TIOCGWINSZ, &first) != 0 || isatty(2) != 1) return 92;
  sigemptyset(&set);
  sigaddset(&set, SIGWINCH);
  sigprocmask(SIG_BLOCK, &set, NULL);
  printf("%d %d\n", first.ws_row, first.ws_col);
  fflush(stdout);
  do {
    sigwait(&set, &number);
    if (ioctl(1, TIOCGWINSZ, &now) != 0) return 92;
  } while (now.ws_col == first.ws_col);
  printf("%d %d\n", now.ws_row, now.ws_col);
  return 9;
}

int main(int argc, char** argv) {
  const char* verb = argc > 1 ? argv[1] : "";
  if (strcmp(verb, "state") == 0) return tell_state();
  if (strcmp(verb, "environment") == 0) return tell_environment();
  if (strcmp(verb, "signals") == 0) return count_signals();
  if (strcmp(verb, "end") == 0) return end_by(argv[2], argv + 3);
  if (strcmp(verb, "threads") == 0) return many_threads();
  if (strcmp(verb, "orphan") == 0) return leave_orphan();
  if (strcmp(verb, "children") == 0) return make_children(argv + 2);
  if (strcmp(verb, "window") == 0) return watch_window();
  return 93;
}
