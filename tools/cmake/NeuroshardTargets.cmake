# How our targets are built: language level, warnings, sanitizers.

add_library(neuroshard_build_flags INTERFACE)
target_compile_features(neuroshard_build_flags INTERFACE cxx_std_20)
# The order and rounding of floating-point operations decides plans (docs/arithmetic.md).
target_compile_options(neuroshard_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -ffp-contract=off>
  # A new algorithm or feature must be met wherever there is one case for each.
  $<$<COMPILE_LANGUAGE:CXX>:-Werror=switch>
  # Who links to the library may leave out what is not called, function by function, as the Python package does. It is
  # so in all builds, which then share objects.
  $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>
  # GCC's memory may grow threefold, instead of twofold, before it collects garbage: a tenth less of its time.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-expand=200>)
# In a project that says neither how to build nor how to optimise, too: else plans take 40 times as long.
get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
get_property(directory_options DIRECTORY PROPERTY COMPILE_OPTIONS)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE
   AND NOT "${CMAKE_CXX_FLAGS};${directory_options}" MATCHES "(^|[ ;])-O")
  target_compile_options(neuroshard_build_flags INTERFACE -O3)
endif()
if(NEUROSHARD_WARNINGS_AS_ERRORS)
  target_compile_options(neuroshard_build_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
if(NEUROSHARD_SANITIZE)
  target_compile_options(neuroshard_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${NEUROSHARD_SANITIZE} -fno-sanitize-recover=all>
    # These ask at each access, which is half the time of inner loops. AddressSanitizer sees what null pointers and
    # those that leave an array are used for; x86-64 allows what is not aligned.
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,alignment,pointer-overflow>)
  target_link_options(neuroshard_build_flags INTERFACE -fsanitize=${NEUROSHARD_SANITIZE})
endif()

# Hardening of everything: marks where calls and jumps may lead, and touches each page of large frames.
if(NOT NEUROSHARD_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|amd64")
  target_compile_options(neuroshard_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fcf-protection -fstack-clash-protection>)
endif()
# Hardening of what is not an inner loop: everything but some modules (neuroshard_add_module). Programs are
# linked to match.
add_library(neuroshard_hardening_flags INTERFACE)
if(NOT NEUROSHARD_SANITIZE)
  target_compile_options(neuroshard_hardening_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fstack-protector-strong>
    # It needs optimisation.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>)
endif()

# Code that reads files and arguments checks each index; the search, and operators whose time is
# measured, do not.
add_library(neuroshard_checked_flags INTERFACE)
target_link_libraries(neuroshard_checked_flags INTERFACE neuroshard_hardening_flags)
if(NOT NEUROSHARD_SANITIZE)
  target_compile_definitions(neuroshard_checked_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Most of the code computes little, and optimising it would be most of a build: tests, the commands of programs,
# each of which has all of CLI11 in it, and, where sanitizers look for errors, the programs. The library and
# its kernels are optimised always. With -Og, tests compile in two thirds of the time that -O1 takes, and run as
# fast: what takes long in them is the library.
add_library(neuroshard_program_flags INTERFACE)
target_link_libraries(neuroshard_program_flags INTERFACE
  neuroshard_build_flags neuroshard_checked_flags)
if(NOT APPLE)
  target_link_options(neuroshard_program_flags INTERFACE -Wl,-z,relro,-z,now)
endif()
add_library(neuroshard_command_flags INTERFACE)
target_link_libraries(neuroshard_command_flags INTERFACE neuroshard_program_flags)
add_library(neuroshard_test_flags INTERFACE)
target_link_libraries(neuroshard_test_flags INTERFACE neuroshard_program_flags)
if(NEUROSHARD_SANITIZE)
  target_compile_options(neuroshard_program_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  target_compile_definitions(neuroshard_test_flags INTERFACE NEUROSHARD_SANITIZED=1)
  # A quarter of the time that tests take to compile. It comes last, after what turns it on.
  add_library(neuroshard_test_sanitizers INTERFACE)
  target_compile_options(neuroshard_test_sanitizers INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
  target_link_libraries(neuroshard_test_flags INTERFACE neuroshard_test_sanitizers)
else()
  target_compile_definitions(neuroshard_test_flags INTERFACE NEUROSHARD_SANITIZED=0)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(neuroshard_command_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    target_compile_options(neuroshard_test_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Og>)
  endif()
endif()

# For what is not optimised and spends its time in the library: of an inline function the linker takes the first
# copy that it sees, which is then the library's. Options come before objects.
add_library(neuroshard_library_first INTERFACE)
target_link_options(neuroshard_library_first INTERFACE
  LINKER:--whole-archive,$<TARGET_FILE:neuroshard>,--no-whole-archive)
# Flags of the programs themselves: with sanitizers they are not optimised, either.
add_library(neuroshard_executable_flags INTERFACE)
target_link_libraries(neuroshard_executable_flags INTERFACE neuroshard_program_flags)
if(NEUROSHARD_SANITIZE)
  target_link_libraries(neuroshard_executable_flags INTERFACE neuroshard_library_first)
endif()

# A module of the library: objects that go into the static library and the shared one, which shows only
# what public headers declare (by `#pragma GCC visibility`). Public headers are in include/, private ones
# beside their sources; modules below it are reached by full path.
function(neuroshard_add_module name)
  add_library(neuroshard_${name} OBJECT ${ARGN})
  set_target_properties(neuroshard_${name} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(neuroshard_${name} PUBLIC
    "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/core/include" "${PROJECT_SOURCE_DIR}/weights/include"
    "${PROJECT_SOURCE_DIR}/search/include" "${PROJECT_SOURCE_DIR}/cuda/include")
  target_link_libraries(neuroshard_${name} PRIVATE neuroshard_build_flags)
  if(name MATCHES "^(search|search_cold|hot_rows|replanning|collection)$")
    target_link_libraries(neuroshard_${name} PRIVATE neuroshard_hardening_flags)
  elseif(NOT name MATCHES "^(core|core_cold|cuda|training)$")
    target_link_libraries(neuroshard_${name} PRIVATE neuroshard_checked_flags)
  endif()
  foreach(library neuroshard neuroshard_shared)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:neuroshard_${name}>)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endforeach()
endfunction()

# Compiles a module for size: what reads, writes and explains takes no part of a plan's time, nor does what leaves
# the work to another module. The Python package has a limit on its size.
function(neuroshard_prefer_size name)
  target_compile_options(neuroshard_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
endfunction()
