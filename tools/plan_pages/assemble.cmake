# cmake -DSTYLE=FILE "-DSCRIPTS=FILE;..." -DOUTPUT=FILE -P assemble.cmake
# Puts style sheet and scripts into report.html, in place of @style@ and @script@.
file(READ "${STYLE}" style)
set(script "")
foreach(file IN LISTS SCRIPTS)
  file(READ "${file}" text)
  string(APPEND script "${text}")
endforeach()
configure_file(report.html "${OUTPUT}" @ONLY)
