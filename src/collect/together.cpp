#include "cudart_doctor/collect/together.hpp"

#include <sched.h>

#include <future>
#include <system_error>

namespace cudart_doctor {
namespace {

bool has_two_cpus() {
  cpu_set_t set;
  // It fails where there are more CPUs than the set can hold.
  return ::sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) > 1;
}

/// An empty future where the system gives no thread.
std::future<void> start(const std::function<void()>& work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace

unsigned reader_threads(const CaptureContext& context) {
  return context.options.helper_progress && has_two_cpus() ? 2 : 1;
}

void run_together(const CaptureContext& context, const std::function<void()>& own,
                  const std::function<void(const CaptureContext&)>& beside) {
  const CaptureContext second{context.options, context.rules, context.process, context.files,
                              context.options.helper_progress};
  std::future<void> helped;
  if (reader_threads(context) > 1) {
    helped = start([&] {
      beside(second);
      second.rest();
    });
  }
  own();
  if (!helped.valid()) return beside(context);
  context.rest();
  helped.get();
}

}  // namespace cudart_doctor
