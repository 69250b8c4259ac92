# Debian's packages. Of spdlog and fmt only the headers are used, which serve every architecture: their
# CMake files belong to one, and Debian's spdlog::spdlog_header_only links libfmt.so, which the shipped
# binary must not need.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Threads REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)

find_path(TL_EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
add_library(doctor_expected INTERFACE)
target_include_directories(doctor_expected SYSTEM INTERFACE "${TL_EXPECTED_INCLUDE_DIR}")

add_library(doctor_log INTERFACE)
target_include_directories(doctor_log SYSTEM INTERFACE "${SPDLOG_INCLUDE_DIR}" "${FMT_INCLUDE_DIR}")
target_compile_definitions(doctor_log INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY
  SPDLOG_DISABLE_DEFAULT_LOGGER)

add_library(doctor_json INTERFACE)
target_link_libraries(doctor_json INTERFACE nlohmann_json::nlohmann_json)
