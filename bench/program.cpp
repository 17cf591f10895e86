#include "bench/program.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <ostream>

#include "bench/commands.h"
#include "tools/command_line/arguments.h"

namespace neuroshard::bench {

int run_program(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  const std::string name = "nsbench";
  try {
    CLI::App program(
        "nsbench measures reading, scoring, planning, training, the quality of plans, and how they "
        "scale.",
        name);
    program.footer(
        "Every command checks the results before it times them, and prints Markdown tables.\n"
        "Exit codes: 0 done; 2 bad input or usage, a check that failed, a report that cannot be "
        "written.");
    program.require_subcommand(1);
    Action chosen;
    add_score_command(program, chosen);
    add_plan_command(program, chosen);
    add_quality_command(program, chosen);
    add_accuracy_command(program, chosen);
    add_deadline_command(program, chosen);
    add_constraints_command(program, chosen);
    add_cuts_command(program, chosen);
    add_host_command(program, chosen);
    add_judge_command(program, chosen);
    add_measured_command(program, chosen);
    add_mixed_command(program, chosen);
    add_nodes_command(program, chosen);
    add_read_command(program, chosen);
    add_replan_command(program, chosen);
    add_scale_command(program, chosen);
    add_kernels_command(program, chosen);
    add_train_command(program, chosen);
    const auto ended = command_line::parse(program, args, out, err);
    if (!ended) chosen(out);
    out << std::flush;
    if (out) return ended.value_or(kExitOk);
    return command_line::fail(err, name, "standard output: not everything could be written");
  } catch (const std::bad_alloc&) {
    return command_line::fail(err, name, "out of memory");
  } catch (const std::exception& error) {
    return command_line::fail(err, name, error.what());
  }
}

}  // namespace neuroshard::bench
