// A list of function names of the user's own, checked on the object that a rule takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct Profile {
  std::string id;      ///< 1 to 64 of a-z, 0-9, '.', '-', '_'.
  std::string title;   ///< Printable ASCII, at most kMaxProfileTitle; the id where none is given.
  std::string policy;  ///< Id of the rule whose choice it follows; empty: the headline's.
  std::vector<std::string> names;  ///< C identifiers, each once, in the order given.
};

inline constexpr std::size_t kMaxProfileTitle = 24;
inline constexpr std::size_t kMaxProfileNames = 4096;
inline constexpr std::size_t kMaxProfileBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxProfiles = 64;

/// How Selection::policy of a profile's row begins.
inline constexpr std::string_view kProfilePrefix = "profile:";

/// Reads a profile's JSON text. Errors are of kind usage and say which key is wrong.
Result<Profile> parse_profile(std::string_view json);

/// True for the row of a profile.
bool is_profile_row(const Selection& selection);

/// Why a profile could neither be passed nor failed, or nothing.
std::string undecided_profile(const std::vector<Selection>& selections);

/// The profile's row: what the followed rule takes, with the names that are missing there. A name
/// outside the CUDA families cannot be looked up in a snapshot: then missing_known is false.
/// `followed` is the rule's row among `selections`.
Selection follow_with_profile(const Profile& profile, const Snapshot& snapshot,
                              const Selection& followed);

}  // namespace cudart_doctor
