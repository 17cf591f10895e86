# Installs the library with its headers, CMake package and pkg-config file, and the programs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

foreach(library neuroshard neuroshard_shared)
  target_include_directories(${library} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
install(TARGETS ${NEUROSHARD_LIBRARY} EXPORT neuroshardTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                COMPONENT library NAMELINK_COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
foreach(module core weights cuda search)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${module}/include/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
endforeach()

set(NEUROSHARD_SHARED OFF)
if(BUILD_SHARED_LIBS)
  set(NEUROSHARD_SHARED ON)
endif()
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/neuroshard)
install(EXPORT neuroshardTargets NAMESPACE neuroshard::
        DESTINATION ${package_folder} COMPONENT development)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/neuroshardConfig.cmake.in
  ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neuroshardConfig.cmake
              ${PROJECT_BINARY_DIR}/neuroshardConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindMinizip.cmake
        DESTINATION ${package_folder} COMPONENT development)

include(NeuroshardPkgConfig)

if(TARGET neuroshard_program)
  install(TARGETS neuroshard_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  set(pages ${PROJECT_BINARY_DIR}/tools/pages)
  install(FILES ${pages}/neuroshard.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${pages}/neuroshard
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${pages}/_neuroshard
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT program)
endif()
if(TARGET neuroshard_mpi)
  install(TARGETS neuroshard_mpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT mpi)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT development RENAME copyright)

if(PROJECT_IS_TOP_LEVEL)
  include(NeuroshardPackage)
endif()
