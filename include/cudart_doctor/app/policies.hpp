// `cudart-doctor policies`: the table of selection rules and the user's profiles.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/profile.hpp"
#include "cudart_doctor/app/options.hpp"

namespace cudart_doctor {

/// What is to be listed.
struct PolicyList {
  std::span<const Policy> rows;
  std::span<const Profile> profiles;
  std::span<const NotModelled> others;
};

/// The list as text of at most 80 columns, or as JSON.
std::string render_policies(const PolicyList& list, Format format);

/// Reads the files that --profile names, at most kMaxProfiles. Errors are of kind usage: a file
/// that cannot be read, one that is no profile, two with one id.
Result<std::vector<Profile>> read_profiles(const std::vector<std::string>& files);

}  // namespace cudart_doctor
