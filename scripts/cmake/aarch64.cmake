# Cross-compiles for aarch64 with Debian's g++-aarch64-linux-gnu; tests run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Where Debian's cross packages put glibc: the loader that the emulated program asks for is there.
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
# As a package for this system is named; dpkg would say the builder's.
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
