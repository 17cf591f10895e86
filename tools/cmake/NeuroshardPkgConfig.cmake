# neuroshard.pc, for builds without CMake. Folders are said in relation to the file, so that all of them
# can be moved together.
set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pkgconfig_libdir "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(pkgconfig_includedir "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH up "/${pkgconfig_folder}/" "/")
  set(pkgconfig_libdir "\${pcfiledir}/${up}${CMAKE_INSTALL_LIBDIR}")
  set(pkgconfig_includedir "\${pcfiledir}/${up}${CMAKE_INSTALL_INCLUDEDIR}")
endif()

# The shared library brings along what it needs. Programs linked to the static one need all of it, those
# linked by a C compiler the C++ library too, but zlib and minizip only if they read checkpoints or recorded
# lookups: `pkg-config --static`.
set(pkgconfig_libraries "")
set(pkgconfig_rarer_libraries "")
if(NOT NEUROSHARD_SHARED)
  set(pkgconfig_libraries " -lsimdjson")
  if(NEUROSHARD_HAS_CUDA)
    string(APPEND pkgconfig_libraries " ${CUDA_cudart_static_LIBRARY} -lrt -ldl")
  endif()
  string(APPEND pkgconfig_libraries " -lstdc++ -lm -pthread")
  set(pkgconfig_rarer_libraries "-lminizip -lz")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/neuroshard.pc.in ${PROJECT_BINARY_DIR}/neuroshard.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/neuroshard.pc
        DESTINATION ${pkgconfig_folder} COMPONENT development)
