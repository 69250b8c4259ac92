// Whose file it is, in words: what reports and findings say of the package that brought a library,
// and the commands that put it back, upgrade or remove it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// The package that owns the path; nullptr where none is known.
const FileOwner* find_owner(const Snapshot& snapshot, const std::string& path);

/// True where the package databases were read, none lists the path, and it is one that packages
/// fill (a system directory, Python's site directory): somebody put the file there by hand.
bool is_unowned(const Snapshot& snapshot, const std::string& path);

/// "nvidia-cuda-runtime-cu12 12.8.90"
std::string package_text(const FileOwner& owner);
/// "wheel nvidia-cuda-runtime-cu12 12.8.90", "Debian package cuda-cudart-12-8 12.8.90-1"
std::string package_phrase(const FileOwner& owner);
/// The package's phrase, "no package owns it" (see is_unowned), or "".
std::string owner_phrase(const Snapshot& snapshot, const std::string& path);
/// Where no package is known: why, in a way that tells nobody's file from one that was not asked
/// for or could not be answered; "" where one is.
std::string owner_gap(const Snapshot& snapshot, const std::string& path);
/// "Owner of FILE: wheel ..." or "No package owns FILE: ..."; "" where nothing is known.
std::string owner_sentence(const Snapshot& snapshot, const std::string& path);

enum class PackageStep : std::uint8_t { reinstall, upgrade, remove };
/// "apt-get install --reinstall cuda-cudart-12-8"; "" for a name that is no plain word: nobody is
/// given foreign bytes to paste into a shell. "" too where pip or conda would have to reinstall a
/// version that is not known.
std::string package_command(const FileOwner& owner, PackageStep step);
/// package_command for the path's owner, `otherwise` where there is none.
std::string command_or(const Snapshot& snapshot, const std::string& path, PackageStep step,
                       std::string_view otherwise);

}  // namespace cudart_doctor
