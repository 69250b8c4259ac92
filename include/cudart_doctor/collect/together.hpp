// Two things at once: a capture's second thread (docs/adr/0007).
#pragma once

#include <functional>

#include "cudart_doctor/collect/capture_context.hpp"

namespace cudart_doctor {

/// 2 where a second thread was allowed and there is a CPU for it, else 1.
unsigned reader_threads(const CaptureContext& context);

/// Runs `own` here and `beside` on a second thread, with a context of that thread; returns when
/// both are done. Neither may touch what the other writes. Where there is no second thread `own`
/// runs first, then `beside`. What either throws is thrown.
void run_together(const CaptureContext& context, const std::function<void()>& own,
                  const std::function<void(const CaptureContext&)>& beside);

}  // namespace cudart_doctor
