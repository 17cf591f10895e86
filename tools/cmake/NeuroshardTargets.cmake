# How our targets are built: language level, warnings, sanitizers.

add_library(neuroshard_build_flags INTERFACE)
target_compile_features(neuroshard_build_flags INTERFACE cxx_std_20)
# The order and rounding of floating-point operations decides plans (docs/arithmetic.md).
target_compile_options(neuroshard_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -ffp-contract=off>)
if(NEUROSHARD_WARNINGS_AS_ERRORS)
  target_compile_options(neuroshard_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(NEUROSHARD_SANITIZE)
  target_compile_options(neuroshard_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${NEUROSHARD_SANITIZE} -fno-sanitize-recover=all>)
  target_link_options(neuroshard_build_flags INTERFACE -fsanitize=${NEUROSHARD_SANITIZE})
endif()

# A module of the library: objects that go into the one static library. Public headers are in
# include/, private ones beside their sources; modules below it are reached by full path.
function(neuroshard_add_module name)
  add_library(neuroshard_${name} OBJECT ${ARGN})
  set_target_properties(neuroshard_${name} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_include_directories(neuroshard_${name} PUBLIC
    "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/core/include" "${PROJECT_SOURCE_DIR}/weights/include"
    "${PROJECT_SOURCE_DIR}/search/include" "${PROJECT_SOURCE_DIR}/cuda/include")
  target_link_libraries(neuroshard_${name} PRIVATE neuroshard_build_flags)
  target_sources(neuroshard PRIVATE $<TARGET_OBJECTS:neuroshard_${name}>)
  target_include_directories(neuroshard PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
endfunction()
