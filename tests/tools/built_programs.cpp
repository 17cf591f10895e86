#include "tools/built_programs.h"

namespace neuroshard::tools {

std::string built_program() { return NEUROSHARD_PROGRAM; }

std::vector<std::string> example_programs() { return {NEUROSHARD_EXAMPLE_PROGRAMS}; }

}  // namespace neuroshard::tools
