# Tells programs what was built: build_info.h (namespace neuroshard::build_info).
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type_upper)
string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type_upper}}" compiler_flags)
set(build_info_folder "${PROJECT_BINARY_DIR}/generated")
add_custom_target(neuroshard_build_info
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}"
          "-DOUTPUT=${build_info_folder}/build_info.h"
          "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DCOMPILER_FLAGS=${compiler_flags}"
          "-DSANITIZERS=${NEUROSHARD_SANITIZE}"
          -P "${CMAKE_CURRENT_LIST_DIR}/WriteBuildInfo.cmake"
  BYPRODUCTS "${build_info_folder}/build_info.h"
  VERBATIM)

# For the source of a target that includes it. The command line of the others is the same in each
# build folder, so that the compiler's cache knows them.
function(neuroshard_use_build_info target source)
  add_dependencies(${target} neuroshard_build_info)
  set_source_files_properties(${source} PROPERTIES
    INCLUDE_DIRECTORIES "${PROJECT_BINARY_DIR}/generated")
endfunction()
