# Fails unless the plan that the README's quick start shows is what PROGRAM prints, but for the search's times.
execute_process(COMMAND "${PROGRAM}" plan --task "${SOURCE}/tools/examples/dlrm_v2_8gpu.json"
  OUTPUT_VARIABLE printed RESULT_VARIABLE code)
string(FIND "${printed}" "\nsearch " end)
if(NOT code EQUAL 0 OR end EQUAL -1)
  message(FATAL_ERROR "${PROGRAM} ended with ${code} and printed '${printed}'")
endif()
string(SUBSTRING "${printed}" 0 ${end} plan)
file(READ "${SOURCE}/README.md" page)
string(FIND "${page}" "${plan}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "the README's quick start shows another plan than\n${plan}")
endif()
