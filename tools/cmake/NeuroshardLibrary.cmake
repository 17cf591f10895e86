# Libraries that the static and the shared library are linked with, and what they need of their
# users.
foreach(library neuroshard neuroshard_shared)
  target_compile_features(${library} PUBLIC cxx_std_20)
  if(NEUROSHARD_HAS_CUDA)
    target_link_libraries(${library} PRIVATE CUDA::cudart_static)
  endif()
endforeach()

# Programs that read neither checkpoints nor recorded lookups take nothing from zlib and minizip, so where
# these are not installed, users of the installed library do without.
target_link_libraries(neuroshard
  PRIVATE simdjson::simdjson Threads::Threads
          $<BUILD_INTERFACE:Minizip::minizip> $<BUILD_INTERFACE:ZLIB::ZLIB>
  INTERFACE $<INSTALL_INTERFACE:$<TARGET_NAME_IF_EXISTS:Minizip::minizip>>
            $<INSTALL_INTERFACE:$<TARGET_NAME_IF_EXISTS:ZLIB::ZLIB>>)

# Before 1.0 a new minor version may change the C++ interface, hence the name that the loader looks for.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
else()
  set(soversion ${PROJECT_VERSION_MAJOR})
endif()
set_target_properties(neuroshard_shared PROPERTIES
  OUTPUT_NAME neuroshard EXPORT_NAME neuroshard LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
target_link_libraries(neuroshard_shared PRIVATE
  Minizip::minizip simdjson::simdjson ZLIB::ZLIB Threads::Threads)
if(NEUROSHARD_SANITIZE)
  target_link_options(neuroshard_shared PRIVATE -fsanitize=${NEUROSHARD_SANITIZE})
elseif(NOT APPLE)
  set(exported_symbols "${CMAKE_CURRENT_LIST_DIR}/exported_symbols.map")
  target_link_options(neuroshard_shared PRIVATE
    "-Wl,--version-script=${exported_symbols}" -Wl,-z,relro,-z,now,-z,defs)
  set_target_properties(neuroshard_shared PROPERTIES LINK_DEPENDS "${exported_symbols}")
endif()
