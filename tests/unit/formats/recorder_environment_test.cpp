#include "cudart_doctor/formats/recorder_environment.hpp"

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("an audit library of the user's comes first") {
  CHECK(recorder_audit("", "/run/x.so") == "/run/x.so");
  CHECK(recorder_audit("/a.so:/b.so", "/run/x.so") == "/a.so:/b.so:/run/x.so");
}

TEST_CASE("room for thread-local variables is added to the user's tunables") {
  CHECK(recorder_tunables("", 2640) == "glibc.rtld.optional_static_tls=3152");
  CHECK(recorder_tunables("glibc.malloc.check=3", 785'760) ==
        "glibc.malloc.check=3:glibc.rtld.optional_static_tls=786272");
}

TEST_CASE("where little room is needed the loader's own is enough") {
  for (const std::uint64_t needed : {0U, 64U, 128U}) {
    CHECK(recorder_tunables("", needed).empty());
    CHECK(recorder_tunables("glibc.malloc.check=3", needed) == "glibc.malloc.check=3");
  }
}

TEST_CASE("room that the user set stays as it is") {
  for (const char* const own : {"glibc.rtld.optional_static_tls=0x40000",
                                "glibc.malloc.check=3:glibc.rtld.optional_static_tls=512"}) {
    CHECK(recorder_tunables(own, 4096) == own);
  }
}
