#include "cudart_doctor/sys/run_both.hpp"

#include <sched.h>

#include <future>
#include <system_error>

namespace cudart_doctor {
namespace {

/// An empty future where the system gives no thread.
std::future<void> start(const std::function<void()>& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace

bool has_two_cpus() {
  cpu_set_t set;
  // It fails where there are more CPUs than the set can hold.
  return ::sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

void run_both(const std::function<void()>& own, const std::function<void()>& beside) {
  std::future<void> helped;
  if (has_two_cpus()) helped = start(beside);
  own();
  if (!helped.valid()) return beside();
  helped.get();
}

}  // namespace cudart_doctor
