// The importer's order: every candidate in turn, in step with the exporter, which asks.
#pragma once

#include "child_world.hpp"

namespace cudart_doctor {

void run_importer(ChildWorld& world);

}  // namespace cudart_doctor
