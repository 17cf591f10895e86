#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace neuroshard::bench {

/// Parses `args` (without the program's name) and runs the command. Never throws. Returns an
/// ExitCode: a check that failed and a report that could not be written are bad input, too.
[[nodiscard]] int run_program(const std::vector<std::string>& args, std::ostream& out,
                              std::ostream& err);

}  // namespace neuroshard::bench
