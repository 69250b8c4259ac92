// Where a path lies inside a Python environment or a toolkit, and which distribution owns it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// A path cut at its site directory: "/v/lib/python3.12/site-packages" and "tilelang/lib/x.so".
struct SitePath {
  std::string_view site;
  std::string_view rest;
};

/// Cuts at the target's site directories, else behind the last site-packages or dist-packages
/// component. Nothing for a path outside of any.
std::optional<SitePath> split_site_path(std::string_view path, const PythonFacts& python);

/// A distribution of that (normalised) name; of several the one that Python would find first.
const PythonDistribution* find_distribution(const PythonFacts& python, std::string_view name);

/// "tilelang 0.1.11" or "CUDA toolkit 12.6" for the owner of a file; "" when none is known.
/// `major` helps where two distributions share a folder.
std::string guess_owner(std::string_view path, const PythonFacts& python, std::optional<int> major);

}  // namespace cudart_doctor
