// --redact for many processes: one stand-in for a name, wherever it stands.
#pragma once

#include "tree_look.hpp"

namespace cudart_doctor {

TreeReport without_names(ManySeen seen);

}  // namespace cudart_doctor
