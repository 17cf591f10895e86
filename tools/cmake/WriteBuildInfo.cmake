# Writes OUTPUT, a header that says what was built. Run at build time, so that the commit is the one
# that is built, not the one that was configured; the file changes only if its contents do.
find_package(Git QUIET)
set(commit "unknown")
if(GIT_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --short=12 HEAD
                  WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE head
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${head}")
    # Results are written into the work tree; they do not change what is measured.
    execute_process(COMMAND "${GIT_EXECUTABLE}" status --porcelain --untracked-files=no
                            -- . ":!bench/results" ":!docs"
                    WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      string(APPEND commit " with changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT [[
#pragma once

namespace neuroshard::build_info {

inline constexpr const char* kCommit = "@commit@";
inline constexpr const char* kBuildType = "@BUILD_TYPE@";
inline constexpr const char* kCompilerFlags = "@COMPILER_FLAGS@";
inline constexpr const char* kSanitizers = "@SANITIZERS@";

}  // namespace neuroshard::build_info
]] @ONLY)
