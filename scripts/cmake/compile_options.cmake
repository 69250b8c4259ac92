# One interface target with what every target of the project is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Without it g++ does not inline across functions of position-independent archives: any of them
# might be replaced at load time.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

include(CheckPIESupported)
check_pie_supported()

add_library(doctor_options INTERFACE)
target_include_directories(doctor_options INTERFACE "${PROJECT_SOURCE_DIR}/include")
target_compile_options(doctor_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wformat=2
  -fstack-protector-strong)
# What is shipped must not tell, or depend on, where it was built.
target_compile_options(doctor_options INTERFACE
  $<$<CONFIG:Release>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
if(CUDART_DOCTOR_WERROR)
  target_compile_options(doctor_options INTERFACE -Werror)
endif()
if(CUDART_DOCTOR_SANITIZE)
  target_compile_options(doctor_options INTERFACE -fsanitize=${CUDART_DOCTOR_SANITIZE}
    -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(doctor_options INTERFACE -fsanitize=${CUDART_DOCTOR_SANITIZE})
  # libFuzzer sets its own.
  if(CUDART_DOCTOR_SANITIZE MATCHES address AND NOT CUDART_DOCTOR_FUZZ)
    target_sources(doctor_options INTERFACE "${CMAKE_CURRENT_LIST_DIR}/sanitizer_options.cpp")
  endif()
else()
  # Hardening; fortify needs optimisation and does not go with sanitizers.
  target_compile_options(doctor_options INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
endif()
if(CUDART_DOCTOR_FUZZ)
  target_compile_options(doctor_options INTERFACE -fsanitize=fuzzer-no-link
    "-fsanitize-coverage-ignorelist=${CMAKE_CURRENT_LIST_DIR}/fuzz_ignorelist.txt")
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(doctor_options INTERFACE -fcf-protection=full)
endif()
if(CUDART_DOCTOR_COVERAGE)
  target_compile_options(doctor_options INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(doctor_options INTERFACE -fprofile-instr-generate)
endif()
target_link_options(doctor_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
