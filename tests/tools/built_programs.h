#pragma once

#include <string>
#include <vector>

namespace neuroshard::tools {

/// Path of the program of the build that the tests are of.
std::string built_program();

/// Paths of the examples of this build, one for each language whose compiler was found. None with
/// sanitizers.
std::vector<std::string> example_programs();

}  // namespace neuroshard::tools
