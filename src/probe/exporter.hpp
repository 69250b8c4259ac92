// The exporter's order: every candidate in turn, every device, the round trips with the importer.
#pragma once

#include "child_world.hpp"

namespace cudart_doctor {

void run_exporter(ChildWorld& world);

}  // namespace cudart_doctor
