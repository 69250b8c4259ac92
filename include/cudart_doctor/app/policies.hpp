// `cudart-doctor policies`: the table of selection rules and the user's profiles.
#pragma once

#include <span>
#include <string>
#include <string_view>
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

/// The list in lines of at most `columns` columns.
std::string render_policies_text(const PolicyList& list, std::size_t columns);
std::string render_policies_json(const PolicyList& list);

/// Reads the files that --profile names, at most kMaxProfiles. Errors are of kind usage: a file
/// that cannot be read, one that is no profile, two with one id.
Result<std::vector<Profile>> read_profiles(const std::vector<std::string>& files);

/// The one whose row is called `row` ("profile:mine"); nullptr: none.
const Profile* find_profile(const std::vector<Profile>& profiles, std::string_view row);
/// What to say where there is none; `asker` is what named it. Of kind usage.
Error unknown_profile(std::string_view asker, std::string_view row);

}  // namespace cudart_doctor
