#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "tools/command_line/exit_code.h"

namespace CLI {
class App;
}

namespace neuroshard::command_line {

/// Parses `args` (without the program's name). Nothing: go on. Else the exit code: help or version
/// was asked for and is on `out`, or the usage was bad, which is on `err`, with the name that was
/// probably meant. Help stays within 100 columns.
[[nodiscard]] std::optional<ExitCode> parse(CLI::App& program, const std::vector<std::string>& args,
                                            std::ostream& out, std::ostream& err);

/// Writes "PROGRAM: error: MESSAGE", printable and in one line.
ExitCode fail(std::ostream& err, const std::string& program, const std::string& message);

/// To be called first in `main`. Output for a closed standard stream lands in no file that is
/// opened later; a reader that has gone and a file that has grown too large are write errors like
/// any other, not signals that end the process and leave its temporary files.
void prepare_process();

}  // namespace neuroshard::command_line
