// Opens a candidate's very file before any right is dropped, and checks that it is the file that
// the process maps and that it is whole.
#pragma once

#include <optional>
#include <string>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/target_files.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// Where the candidates' files lie. Both are empty where the doctor's own view is meant.
struct SubjectPlace {
  std::optional<ProcDirectory> process;
  std::optional<TargetFiles> files;
};

/// Errors: gone, permission, io.
Result<SubjectPlace> open_subject_place(const ProcDirectory& proc, const ProbeIdentity& identity);

struct OpenedSubject {
  UniqueFd fd;
  std::string opened_by;  ///< "map_files", "root_path", "path"
  StageResult file;       ///< Stage `file`: is it as long as its program headers say?
};

/// Errors: not_found (another file lies there now), permission, io; the text is for the user.
Result<OpenedSubject> open_subject(const SubjectPlace& place, const ProbeSubject& subject);

}  // namespace cudart_doctor
