# Files that are parts of programs and libraries.

# Makes a source that defines SYMBOL and SYMBOLSize, the bytes of FILE and their number, as HEADER declares
# them. Its path, SYMBOL.cpp, is added to the list VARIABLE.
set(neuroshard_embed_script "${CMAKE_CURRENT_LIST_DIR}/embed.cmake")
function(neuroshard_embed variable file symbol header)
  cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${symbol}.cpp")
  add_custom_command(
    OUTPUT "${source}"
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${file}" "-DOUTPUT=${source}" -DSYMBOL=${symbol}
            -DHEADER=${header} -P "${neuroshard_embed_script}"
    DEPENDS "${file}" "${neuroshard_embed_script}"
    VERBATIM)
  # Its path is that of one build: a group with it would not be found by ccache in another.
  set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} ${${variable}} "${source}" PARENT_SCOPE)
endfunction()
