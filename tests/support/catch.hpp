// One include for Catch2 2.13 and 3.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
/// Catch2 3's name for what 2.13 calls Contains.
inline auto ContainsSubstring(const std::string& text) { return Catch::Matchers::Contains(text); }
#endif
