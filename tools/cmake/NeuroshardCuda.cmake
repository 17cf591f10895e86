# Decides whether the CUDA backend is built (NEUROSHARD_HAS_CUDA) and how CUDA code is compiled.
set(NEUROSHARD_HAS_CUDA OFF)
if(NOT NEUROSHARD_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(NEUROSHARD_HAS_CUDA ON)
  elseif(NEUROSHARD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "NEUROSHARD_CUDA=ON, but no CUDA compiler was found; "
                        "put nvcc on PATH or set NEUROSHARD_CUDA=OFF")
  endif()
endif()
message(STATUS "CUDA backend: ${NEUROSHARD_HAS_CUDA}")
if(NOT NEUROSHARD_HAS_CUDA)
  return()
endif()

# Machine code for A100 and H100/H200 (and what is compatible with it), and PTX for later devices.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
endif()
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(CUDAToolkit_VERSION VERSION_LESS 12.0)
  message(FATAL_ERROR "CUDA ${CUDAToolkit_VERSION} is too old; use 12.0 or later, or set "
                      "NEUROSHARD_CUDA=OFF")
endif()

# Products and sums are not fused on their own: docs/arithmetic.md says where FMA are.
# (CMake before 3.26 does not know how to ask nvcc for C++20.)
target_compile_options(neuroshard_build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off>)
if(NEUROSHARD_WARNINGS_AS_ERRORS)
  target_compile_options(neuroshard_build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()

# For a target with CUDA code or calls of CUDA.
function(neuroshard_cuda_module target)
  target_link_libraries(${target} PRIVATE CUDA::cudart_static)
endfunction()

# For a target of which only these C++ sources call CUDA: to the compiler the others are the same as
# without CUDA, so that its cache knows them.
function(neuroshard_cuda_sources target)
  target_link_libraries(${target} PRIVATE $<LINK_ONLY:CUDA::cudart_static>)
  set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
    COMPILE_OPTIONS "-isystem${CUDAToolkit_INCLUDE_DIRS}")
endfunction()
