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

/// Contents of the files that --profile names, at most kMaxProfiles, in their order. May block where
/// a file does not answer. Errors: usage: a file that cannot be read, too many.
Result<std::vector<std::string>> read_profiles(const std::vector<std::string>& files);

/// What they say; `texts` are the contents of `files`. Errors: usage: one that is no profile, two
/// with one id.
Result<std::vector<Profile>> parse_profiles(const std::vector<std::string>& files,
                                            const std::vector<std::string>& texts);

/// The one whose row is called `row` ("profile:mine"); nullptr: none.
const Profile* find_profile(const std::vector<Profile>& profiles, std::string_view row);
/// What to say where there is none; `asker` is what named it. Of kind usage.
Error unknown_profile(std::string_view asker, std::string_view row);

}  // namespace cudart_doctor
