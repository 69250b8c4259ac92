// Catch2 2.13 is header-only: its main is compiled here. Catch2 3 brings a library with one.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
