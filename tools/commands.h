#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/command_line/exit_code.h"
#include "tools/console/console.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// Work of the chosen sub-command once all options are parsed. Returns an ExitCode; throws Error on
/// bad input.
using Action = std::function<int(Console&)>;

// Each adds its sub-command to `program`; its callback stores the work to do in `chosen`.
// A new sub-command: declare it here, and list it in program.cpp.
void add_bound_command(CLI::App& program, Action& chosen);
void add_check_command(CLI::App& program, Action& chosen);
void add_collect_command(CLI::App& program, Action& chosen);
void add_convert_command(CLI::App& program, Action& chosen);
void add_profile_command(CLI::App& program, Action& chosen);
void add_evaluate_command(CLI::App& program, Action& chosen);
void add_explain_command(CLI::App& program, Action& chosen);
void add_fingerprint_command(CLI::App& program, Action& chosen);
void add_generate_command(CLI::App& program, Action& chosen);
void add_groups_command(CLI::App& program, Action& chosen);
void add_inspect_command(CLI::App& program, Action& chosen);
void add_plan_command(CLI::App& program, Action& chosen);
void add_replan_command(CLI::App& program, Action& chosen);
void add_simulate_command(CLI::App& program, Action& chosen);
void add_train_command(CLI::App& program, Action& chosen);

/// Parses `args` (without the program's name) and runs the sub-command. Never throws: every error
/// becomes "neuroshard: error: ..." on `console.err` and kExitBadInput.
[[nodiscard]] int run_program(const std::vector<std::string>& args, Console& console);

}  // namespace neuroshard::tools
