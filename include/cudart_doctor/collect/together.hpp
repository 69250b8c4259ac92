// Two things at once: a capture's second thread (docs/adr/0007).
#pragma once

#include <functional>

#include "cudart_doctor/collect/capture_context.hpp"

namespace cudart_doctor {

/// 2 where a second thread was allowed and there is a CPU for it, else 1.
unsigned reader_threads(const CaptureContext& context);

/// run_both() for a capture: `beside` gets the context of the thread that it runs on.
void run_together(const CaptureContext& context, const std::function<void()>& own,
                  const std::function<void(const CaptureContext&)>& beside);

}  // namespace cudart_doctor
