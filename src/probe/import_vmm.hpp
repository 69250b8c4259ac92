// Virtual memory that came as a descriptor, by either way; the importer's side.
#pragma once

#include "child_world.hpp"
#include "peer.hpp"

namespace cudart_doctor {

/// Imports, looks for the exporter's bytes, writes the importer's. The answer carries errno where
/// a descriptor was refused.
PeerMessage import_vmm(ChildWorld& world, const PeerReceived& received);

}  // namespace cudart_doctor
