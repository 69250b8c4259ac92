#include "cudart_doctor/collect/together.hpp"

#include "cudart_doctor/sys/run_both.hpp"

namespace cudart_doctor {

unsigned reader_threads(const CaptureContext& context) {
  return context.options.helper_progress && has_two_cpus() ? 2 : 1;
}

void run_together(const CaptureContext& context, const std::function<void()>& own,
                  const std::function<void(const CaptureContext&)>& beside) {
  if (reader_threads(context) < 2) {
    own();
    return beside(context);
  }
  const CaptureContext second{context.options,
                              context.rules,
                              context.process,
                              context.files,
                              context.options.helper_progress,
                              context.silent};
  run_both(
      [&] {
        own();
        context.rest();
      },
      [&] {
        beside(second);
        second.rest();
      });
}

}  // namespace cudart_doctor
