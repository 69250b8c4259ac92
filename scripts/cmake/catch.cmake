# Catch2 2.13 (Debian 12) or 3 (Debian 13). doctor_add_test(NAME name SOURCES ... LIBS ... LABELS ...
# TIMEOUT s) makes an executable with Catch2's main and registers it as one ctest entry; a test
# program that exits with 77 was skipped.
find_package(Catch2 REQUIRED)
# Version 3 is a library, and the one that was found is this machine's.
if(CMAKE_CROSSCOMPILING AND Catch2_VERSION VERSION_GREATER_EQUAL 3
   AND NOT Catch2_DIR MATCHES "${CMAKE_LIBRARY_ARCHITECTURE}")
  message(WARNING "Catch2 3 is not installed for ${CMAKE_SYSTEM_PROCESSOR}: the tests that use it are not built")
  set(DOCTOR_CATCH OFF)
else()
  set(DOCTOR_CATCH ON)
endif()

function(doctor_add_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS;DEPENDS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE catch_main doctor_options ${ARG_LIBS})
  target_include_directories(${ARG_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  if(ARG_DEPENDS)
    add_dependencies(${ARG_NAME} ${ARG_DEPENDS})
  endif()
  if(NOT DOCTOR_CATCH)
    set_target_properties(${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  set_tests_properties(${ARG_NAME} PROPERTIES TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    LABELS "${ARG_LABELS}")
endfunction()
