#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace neuroshard::bench {

/// Parses `args` (without the program's name) and runs the command. Never throws. Returns the exit
/// code: 0; 1 on bad input, a check that failed or a report that could not be written; more on bad
/// usage.
[[nodiscard]] int run_program(const std::vector<std::string>& args, std::ostream& out,
                              std::ostream& err);

}  // namespace neuroshard::bench
