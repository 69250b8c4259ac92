// What a launcher that was killed has left.
#pragma once

#include <string>

namespace cudart_doctor {

/// Removes below `place` the caller's own folders of recorders whose launcher is gone: nobody
/// listens at their socket. What cannot be looked at stays.
void remove_stale_recorders(const std::string& place);

}  // namespace cudart_doctor
