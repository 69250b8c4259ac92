// The JSON document of a run that ended without a report.
#include "cudart_doctor/render/render.hpp"
#include "render/json_parts.hpp"

namespace cudart_doctor {
namespace {

std::string_view name_of_kind(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "usage";
    case ErrorKind::not_found: return "not_found";
    case ErrorKind::permission: return "permission";
    case ErrorKind::gone: return "gone";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::io: return "io";
    case ErrorKind::malformed: return "malformed";
    case ErrorKind::limit: return "limit";
    case ErrorKind::unsupported: return "unsupported";
  }
  return "io";
}

}  // namespace

std::string render_error_json(const Error& error, int exit_code) {
  Json out;
  out["schema_version"] = 1;
  out["tool"]["name"] = "cudart-doctor";
  out["tool"]["version"] = CUDART_DOCTOR_VERSION;
  out["error"]["kind"] = name_of_kind(error.kind);
  out["error"]["message"] = json_sentence(error.message);
  out["verdict"]["exit_code"] = exit_code;
  return out.dump(2) + "\n";
}

}  // namespace cudart_doctor
