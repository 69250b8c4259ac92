#include "cudart_doctor/sys/gained_rights.hpp"

#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace cudart_doctor {

bool is_set_id() { return ::geteuid() != ::getuid() || ::getegid() != ::getgid(); }

bool drop_gained_capabilities() {
  // The kernel's word for it. Root's capabilities are root's own.
  if (::getauxval(AT_SECURE) == 0 || ::getuid() == 0) return true;
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none = {};
  // An execve would give them again; with no_new_privs it gives no more than there is.
  return ::syscall(SYS_capset, &header, none.data()) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace cudart_doctor
