# Libraries that others keep well, as distributions package them. Nothing is downloaded.

function(neuroshard_need package debian_package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is not installed; install it (Debian, Ubuntu: "
                        "apt-get install ${debian_package}), or say where it is with "
                        "CMAKE_PREFIX_PATH")
  endif()
endfunction()

find_package(Threads REQUIRED)
neuroshard_need(ZLIB zlib1g-dev)
neuroshard_need(Minizip libminizip-dev)
neuroshard_need(nlohmann_json nlohmann-json3-dev)
neuroshard_need(simdjson libsimdjson-dev)
if(NEUROSHARD_BUILD_TOOLS OR NEUROSHARD_BUILD_BENCH)
  neuroshard_need(CLI11 libcli11-dev)
endif()
if(NEUROSHARD_BUILD_TESTS)
  neuroshard_need(GTest "libgtest-dev libgmock-dev")
  neuroshard_need(LibZip libzip-dev)  # Writes what is read by minizip.
endif()
if(NEUROSHARD_BUILD_BENCH)
  neuroshard_need(benchmark libbenchmark-dev)
endif()
