// The JSON document of a run that ended without a report.
#include "cudart_doctor/render/render.hpp"
#include "render/json_parts.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
std::string render_error_json(const Failure& failure) {
  Json out;
  out["schema_version"] = 1;
  out["tool"]["name"] = "cudart-doctor";
  out["tool"]["version"] = CUDART_DOCTOR_VERSION;
  out["error"]["kind"] = name_of(failure.error.kind);
  out["error"]["message"] = json_sentence(failure.error.message);
  out["verdict"]["exit_code"] = failure.exit_code;
  out["verdict"]["exit_style"] = name_of(failure.exit_style);
  return out.dump(2) + "\n";
}

}  // namespace cudart_doctor
