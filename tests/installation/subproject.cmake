# usage: cmake -DNEUROSHARD=REPOSITORY -DPROJECT=subproject -DBUILD=FOLDER -DCOMPILER=CXX
#   -DGENERATOR=GENERATOR -P subproject.cmake
# Configures a project that adds the repository as a folder. Nothing is built; the project looks at itself,
# and here is looked at what it would do.
file(REMOVE_RECURSE "${BUILD}")

function(expect_command_of_library what pattern)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S "${PROJECT}" -B "${BUILD}" -G "${GENERATOR}" "-DNEUROSHARD=${NEUROSHARD}"
            "-DCMAKE_CXX_COMPILER=${COMPILER}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON ${ARGN}
    OUTPUT_QUIET ERROR_VARIABLE errors RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${what}: ${errors}")
  endif()
  file(STRINGS "${BUILD}/compile_commands.json" commands REGEX "command.*/core/tables/task\\.cpp")
  if(NOT commands MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: expected ${pattern} in: ${commands}")
  endif()
endfunction()

expect_command_of_library("no build type" " -O3 ")
file(STRINGS "${BUILD}/CMakeCache.txt" cuda REGEX "^CMAKE_CUDA_COMPILER:")
if(cuda)
  message(FATAL_ERROR "CUDA was not asked for, but: ${cuda}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${BUILD}/prefix"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(EXISTS "${BUILD}/prefix")
  message(FATAL_ERROR "something was installed unasked")
endif()
expect_command_of_library("options of the parent's own" " -O1 .*-c " -DCMAKE_CXX_FLAGS=-O1)
file(STRINGS "${BUILD}/compile_commands.json" overruled REGEX "command.*-O3.*/core/tables/task\\.cpp")
expect_command_of_library("Debug" " -g .*-c " -DCMAKE_CXX_FLAGS= -DCMAKE_BUILD_TYPE=Debug)
file(STRINGS "${BUILD}/compile_commands.json" also_overruled REGEX "command.*-O3.*/core/tables/task\\.cpp")
if(overruled OR also_overruled)
  message(FATAL_ERROR "what the parent asked for is overruled: ${overruled} ${also_overruled}")
endif()
