// System calls without a C library: the recorder lives in a loader namespace of its own, where a
// libc would be a second one, with a second errno and a second malloc.
#pragma once

#include <asm/unistd.h>

#include <cstdint>

#include "addresses.hpp"

namespace cudart_doctor::recorder {

struct SystemCall {
  long number = 0;
  long first = 0;
  long second = 0;
  long third = 0;
  long fourth = 0;
  long fifth = 0;
  long sixth = 0;
};

/// The kernel's answer: a negated errno on failure. The program's errno is not touched.
inline long call(const SystemCall& request) {
#if defined(__x86_64__)
  long result = request.number;
  register long fourth asm("r10") = request.fourth;
  register long fifth asm("r8") = request.fifth;
  register long sixth asm("r9") = request.sixth;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(request.first), "S"(request.second), "d"(request.third), "r"(fourth),
                 "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number asm("x8") = request.number;
  register long first asm("x0") = request.first;
  register long second asm("x1") = request.second;
  register long third asm("x2") = request.third;
  register long fourth asm("x3") = request.fourth;
  register long fifth asm("x4") = request.fifth;
  register long sixth asm("x5") = request.sixth;
  asm volatile("svc 0"
               : "+r"(first)
               : "r"(number), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
               : "memory");
  return first;
#else
#error "the recorder knows the system calls of x86_64 and aarch64"
#endif
}

inline long process_id() { return call({.number = __NR_getpid}); }
inline long parent_id() { return call({.number = __NR_getppid}); }
inline long thread_id() { return call({.number = __NR_gettid}); }

/// CLOCK_MONOTONIC, in nanoseconds.
inline std::int64_t monotonic() {
  struct {
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
  } time;
  constexpr long kMonotonic = 1;
  call({.number = __NR_clock_gettime, .first = kMonotonic, .second = address(&time)});
  return time.seconds * 1'000'000'000 + time.nanoseconds;
}

}  // namespace cudart_doctor::recorder
