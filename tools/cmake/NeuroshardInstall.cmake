# Installs the static library, its headers and a CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

target_link_libraries(neuroshard PRIVATE LibZip::zip simdjson::simdjson ZLIB::ZLIB Threads::Threads)
if(NEUROSHARD_HAS_CUDA)
  target_link_libraries(neuroshard PRIVATE CUDA::cudart_static)
endif()
target_compile_features(neuroshard PUBLIC cxx_std_20)
target_include_directories(neuroshard PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS neuroshard EXPORT neuroshardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(module core weights cuda search)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
install(EXPORT neuroshardTargets NAMESPACE neuroshard::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/neuroshard)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/neuroshardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/neuroshard)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake
              ${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibZip.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/neuroshard)
