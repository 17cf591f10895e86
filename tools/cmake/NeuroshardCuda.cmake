# Decides whether the CUDA backend is built: NEUROSHARD_HAS_CUDA.
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
