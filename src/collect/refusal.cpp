// Why a process may not be looked into, in words that say what to type instead.
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/process_facts.hpp"

namespace cudart_doctor {

Error refused(Error error, const ProcessFacts& process, std::uint32_t own_uid) {
  const std::string pid = std::to_string(process.pid);
  const std::string who = "PID " + pid + " (" + escape_foreign(process.comm) + ") ";
  std::string why = "may not be looked into";
  std::string remedy = "run the doctor as root: sudo cudart-doctor --pid " + pid;
  if (own_uid == 0) {
    why += " even by root: this container or shell is without CAP_SYS_PTRACE";
    remedy =
        "run it on the host, or give the capability (docker: --cap-add SYS_PTRACE; "
        "Kubernetes: securityContext.capabilities.add)";
  } else if (process.uid && *process.uid != own_uid) {
    why = "belongs to uid " + std::to_string(*process.uid) + ", you are uid " +
          std::to_string(own_uid);
  } else {
    why += " although it is yours: it changed its user or holds capabilities";
  }
  error.message = who + why + "; " + remedy + " (" + error.message + ")";
  return error;
}

}  // namespace cudart_doctor
