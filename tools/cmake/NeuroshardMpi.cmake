# Decides whether neuroshard-mpi is built (NEUROSHARD_HAS_MPI), and whether it can measure NCCL
# (NEUROSHARD_HAS_NCCL), whose library it loads when it does.
set(NEUROSHARD_HAS_MPI OFF)
set(NEUROSHARD_HAS_NCCL OFF)
if(NOT NEUROSHARD_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(NEUROSHARD_HAS_MPI ON)
  elseif(NEUROSHARD_MPI STREQUAL "ON")
    message(FATAL_ERROR "NEUROSHARD_MPI=ON, but no MPI was found; install one (libopenmpi-dev) or "
                        "set NEUROSHARD_MPI=OFF")
  endif()
endif()
message(STATUS "Communication over MPI: ${NEUROSHARD_HAS_MPI}")
if(NOT NEUROSHARD_HAS_CUDA)
  return()
endif()

find_path(NEUROSHARD_NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
mark_as_advanced(NEUROSHARD_NCCL_INCLUDE_DIR)
if(NEUROSHARD_NCCL_INCLUDE_DIR)
  set(NEUROSHARD_HAS_NCCL ON)
endif()
message(STATUS "Communication over NCCL: ${NEUROSHARD_HAS_NCCL}")
