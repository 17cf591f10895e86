# Fails unless the file PAGE contains the file PART word for word.
file(READ "${PAGE}" page)
file(READ "${PART}" part)
string(FIND "${page}" "${part}" position)
if(part STREQUAL "" OR position EQUAL -1)
  message(FATAL_ERROR "${PAGE} does not show ${PART} as it is; copy it there")
endif()
