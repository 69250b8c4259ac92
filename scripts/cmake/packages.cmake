# What is installed and packed: `cmake --install`, a Debian package and a tarball (scripts/package).
include(GNUInstallDirs)

install(TARGETS cudart-doctor RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
# Debian's name for a package's terms of use.
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs"
  PATTERN "man" EXCLUDE
  PATTERN "measurements" EXCLUDE
  PATTERN "adr" EXCLUDE
  PATTERN "integrations" EXCLUDE)
# To copy: what is executable in the sources stays so, whatever the umask.
install(DIRECTORY docs/integrations/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs/integrations"
  PATTERN "*.sh" EXCLUDE
  PATTERN "wrappers" EXCLUDE)
install(DIRECTORY docs/integrations/ DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs/integrations"
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE
  FILES_MATCHING
  PATTERN "*.sh"
  PATTERN "wrappers/*")

# Debian wants a page compressed, at its best and without name and time in it; man reads both.
find_program(GZIP gzip)
if(GZIP)
  set(manual "${PROJECT_BINARY_DIR}/cudart-doctor.1.gz")
  add_custom_command(OUTPUT "${manual}"
    COMMAND sh -c "'${GZIP}' -n -9 -c '${PROJECT_SOURCE_DIR}/docs/man/cudart-doctor.1' >'${manual}'"
    DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/cudart-doctor.1" VERBATIM)
  add_custom_target(manual ALL DEPENDS "${manual}")
else()
  set(manual "${PROJECT_SOURCE_DIR}/docs/man/cudart-doctor.1")
endif()
install(FILES "${manual}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
set(completions "${PROJECT_SOURCE_DIR}/scripts/completions")
# bash-completion looks a command up by the file's name.
install(FILES "${completions}/cudart-doctor.bash" RENAME cudart-doctor
  DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
# Debian's zsh looks into vendor-completions below /usr (there is no /usr/share/zsh/site-functions in
# its fpath), and into site-functions below /usr/local, as zsh does elsewhere. The prefix is known
# only when it is installed.
install(CODE "
  set(folder site-functions)
  if(\"\${CMAKE_INSTALL_PREFIX}\" STREQUAL \"/usr\")
    set(folder vendor-completions)
  endif()
  file(INSTALL \"${completions}/_cudart-doctor\"
    DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\")")
install(FILES "${completions}/cudart-doctor.fish"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_VENDOR "${PROJECT_NAME}")
set(CPACK_PACKAGE_CONTACT "the cudart-doctor developers <cudart-doctor@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
  "Inspects a process through /proc, lists every library in it that is or claims to be the CUDA\n"
  "runtime, says which of them vLLM, SGLang, FlashInfer and others would take and why, and tries\n"
  "kernels and CUDA IPC with it.")
string(CONCAT CPACK_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
if(CMAKE_CROSSCOMPILING)
  # dpkg-shlibdeps knows this machine's libraries only. What src/app/glibc_compat.cpp holds the program to.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.34)")
else()
  # From the binary's own needs, by dpkg-shlibdeps.
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_PACKAGE_FILE_NAME "${PROJECT_NAME}-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
