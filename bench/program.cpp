#include "bench/program.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <ostream>

#include "bench/commands.h"

namespace neuroshard::bench {

int run_program(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  try {
    CLI::App program(
        "nsbench measures scoring, planning, training, the quality of plans, and how they scale.",
        "nsbench");
    program.footer(
        "Every command checks the results before it times them, and prints Markdown tables.\n"
        "Exit codes: 0 done; 1 bad input, or a check that failed; more: usage.");
    program.require_subcommand(1);
    Action chosen;
    add_score_command(program, chosen);
    add_plan_command(program, chosen);
    add_quality_command(program, chosen);
    add_gap_command(program, chosen);
    add_scale_command(program, chosen);
    add_kernels_command(program, chosen);
    add_train_command(program, chosen);
    try {
      // CLI11 takes the arguments last one first.
      program.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    } catch (const CLI::ParseError& error) {
      return program.exit(error, out, err);
    }
    chosen(out);
    out << std::flush;
    if (out) return 0;
    err << "nsbench: error: standard output: not everything could be written\n";
  } catch (const std::exception& error) {
    err << "nsbench: error: " << error.what() << '\n';
  }
  return 1;
}

}  // namespace neuroshard::bench
