#include "cudart_doctor/formats/recorder_environment.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kRoomName = "glibc.rtld.optional_static_tls=";
/// What the loader leaves by itself.
constexpr std::uint64_t kOwnRoom = 512;
/// What it leaves more for an audit library's namespace, and that one has no need of.
constexpr std::uint64_t kSpare = 128;

std::string joined(std::string_view own, std::string_view added) {
  std::string out(own);
  if (!out.empty()) out += ':';
  return out.append(added);
}

}  // namespace

std::string recorder_audit(std::string_view own, std::string_view library) {
  return joined(own, library);
}

std::string recorder_tunables(std::string_view own, std::uint64_t needed) {
  if (needed <= kSpare || own.starts_with(kRoomName) ||
      own.find(":" + std::string(kRoomName)) != std::string_view::npos) {
    return std::string(own);
  }
  return joined(own, std::string(kRoomName) + std::to_string(kOwnRoom + needed));
}

}  // namespace cudart_doctor
