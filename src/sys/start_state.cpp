#include "cudart_doctor/sys/start_state.hpp"

#include <fcntl.h>
#include <pthread.h>

#include <cerrno>

namespace cudart_doctor {

StartState current_state() {
  StartState state;
  ::pthread_sigmask(SIG_BLOCK, nullptr, &state.mask);
  ::sigemptyset(&state.ignored);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    // The two signals that glibc keeps for itself cannot be asked for, and nobody changes them.
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      ::sigaddset(&state.ignored, number);
    }
  }
  for (int fd = 0; fd < 3; ++fd) {
    state.closed[static_cast<std::size_t>(fd)] = ::fcntl(fd, F_GETFD) < 0 && errno == EBADF;
  }
  return state;
}

}  // namespace cudart_doctor
