# Debian's packages. spdlog and fmt are used header-only through a target of ours: Debian's
# spdlog::spdlog_header_only links libfmt.so, which the shipped binary must not need.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)

find_path(TL_EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
add_library(doctor_expected INTERFACE)
target_include_directories(doctor_expected SYSTEM INTERFACE "${TL_EXPECTED_INCLUDE_DIR}")

add_library(doctor_log INTERFACE)
get_target_property(spdlog_includes spdlog::spdlog_header_only INTERFACE_INCLUDE_DIRECTORIES)
get_target_property(fmt_includes fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(doctor_log SYSTEM INTERFACE ${spdlog_includes} ${fmt_includes})
target_compile_definitions(doctor_log INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY
  SPDLOG_DISABLE_DEFAULT_LOGGER)

add_library(doctor_json INTERFACE)
target_link_libraries(doctor_json INTERFACE nlohmann_json::nlohmann_json)
