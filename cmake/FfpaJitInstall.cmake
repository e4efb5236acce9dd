# Install rules: the library, its headers, a CMake package (ffpa_jit::ffpa_jit), a pkg-config file.
include(CMakePackageConfigHelpers)

install(TARGETS ffpa_jit EXPORT ffpa_jit_targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ffpa_jit DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ffpa_jit_targets NAMESPACE ffpa_jit:: FILE ffpa_jit-targets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ffpa_jit)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ffpa_jit-config.cmake.in
  ${PROJECT_BINARY_DIR}/ffpa_jit-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ffpa_jit)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ffpa_jit-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ffpa_jit-config.cmake
              ${PROJECT_BINARY_DIR}/ffpa_jit-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ffpa_jit)

configure_file(${PROJECT_SOURCE_DIR}/cmake/ffpa_jit.pc.in ${PROJECT_BINARY_DIR}/ffpa_jit.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ffpa_jit.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
