#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/console.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// What every sub-command returns to the shell.
enum ExitCode : int {
  kExitOk = 0,
  kExitInfeasible = 1,  ///< Some task has no plan.
  kExitBadInput = 2,    ///< Bad input or usage; also a disk that is full, a backend that fails.
};

/// What the chosen sub-command does once all options are parsed. Throws Error on bad input.
using Action = std::function<int(Console&)>;

// Each adds its sub-command to `program`; its callback stores the work to do in `chosen`.
// A new sub-command: declare it here, and call it in program.cpp.
void add_collect_command(CLI::App& program, Action& chosen);
void add_convert_command(CLI::App& program, Action& chosen);
void add_profile_command(CLI::App& program, Action& chosen);
void add_evaluate_command(CLI::App& program, Action& chosen);
void add_generate_command(CLI::App& program, Action& chosen);
void add_inspect_command(CLI::App& program, Action& chosen);
void add_plan_command(CLI::App& program, Action& chosen);
void add_simulate_command(CLI::App& program, Action& chosen);
void add_train_command(CLI::App& program, Action& chosen);

/// Parses `args` (without the program's name) and runs the sub-command. Never throws: every error
/// becomes "neuroshard: error: ..." on `console.err` and kExitBadInput.
[[nodiscard]] int run_program(const std::vector<std::string>& args, Console& console);

}  // namespace neuroshard::tools
