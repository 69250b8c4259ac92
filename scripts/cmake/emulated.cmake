# What is built for another machine runs under CMAKE_CROSSCOMPILING_EMULATOR. ctest does that itself for a
# test that is a program; these are for tests that start one.
list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " DOCTOR_EMULATOR)

# doctor_started(target variable): the file that starts a program: itself, or a script of its name.
function(doctor_started target variable)
  set(file "$<TARGET_FILE:${target}>")
  if(CMAKE_CROSSCOMPILING)
    set(script "${PROJECT_BINARY_DIR}/emulated/${target}")
    file(GENERATE OUTPUT "${script}" CONTENT "#!/bin/sh\nexec ${DOCTOR_EMULATOR} '${file}' \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    set(file "${script}")
  endif()
  set(${variable} "${file}" PARENT_SCOPE)
endfunction()
