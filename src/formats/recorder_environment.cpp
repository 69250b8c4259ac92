#include "cudart_doctor/formats/recorder_environment.hpp"

namespace cudart_doctor {
namespace {

/// jemalloc has 2.6 KB. With more than 8 KiB threads with stacks of PTHREAD_STACK_MIN, from which
/// the block is taken, could not be made.
constexpr std::string_view kRoomName = "glibc.rtld.optional_static_tls=";
constexpr std::string_view kRoom = "8192";

std::string joined(std::string_view own, std::string_view added) {
  std::string out(own);
  if (!out.empty()) out += ':';
  return out.append(added);
}

}  // namespace

std::string recorder_audit(std::string_view own, std::string_view library) {
  return joined(own, library);
}

std::string recorder_tunables(std::string_view own) {
  if (own.starts_with(kRoomName)) return std::string(own);
  if (own.find(":" + std::string(kRoomName)) != std::string_view::npos) return std::string(own);
  return joined(own, std::string(kRoomName).append(kRoom));
}

}  // namespace cudart_doctor
