#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <memory>
#include <new>

#include "tools/command_line/arguments.h"
#include "tools/commands.h"
#include "tools/kept_inputs.h"
#include "tools/version_page.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kDescription =
    "neuroshard plans how the embedding tables of a recommendation model are spread over\n"
    "accelerators, with neural cost models of computation and communication.";

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 a task has no plan, or a plan does not fit or has problems (plan,\n"
    "replan, simulate, explain, check); 2 bad input or usage, or a result that cannot be written.\n"
    "'neuroshard COMMAND --help' lists the options of a command, with examples.";

constexpr const char* kName = "neuroshard";

}  // namespace

std::shared_ptr<CLI::App> make_program(Action& chosen) {
  auto program = std::make_shared<CLI::App>(kDescription, kName);
  program->set_version_flag("--version", version_page);
  program->footer(kFooter);
  program->require_subcommand(1);
  add_plan_command(*program, chosen);
  add_replan_command(*program, chosen);
  add_simulate_command(*program, chosen);
  add_explain_command(*program, chosen);
  add_measure_command(*program, chosen);
  add_check_command(*program, chosen);
  add_fingerprint_command(*program, chosen);
  add_inspect_command(*program, chosen);
  add_convert_command(*program, chosen);
  add_profile_command(*program, chosen);
  add_generate_command(*program, chosen);
  add_collect_command(*program, chosen);
  add_train_command(*program, chosen);
  add_evaluate_command(*program, chosen);
  return program;
}

int run_program(const std::vector<std::string>& args, Console& console) {
  try {
    Action chosen;
    const std::shared_ptr<CLI::App> program = make_program(chosen);
    const auto ended = command_line::parse(*program, args, console.out, console.err);
    if (!ended) require_inputs_kept(*program);
    const int code = ended ? *ended : chosen(console);
    require_written(console.out, "standard output");
    return code;
  } catch (const std::bad_alloc&) {
    return command_line::fail(console.err, kName, "out of memory");
  } catch (const std::exception& error) {
    return command_line::fail(console.err, kName, error.what());
  }
}

}  // namespace neuroshard::tools
