#include "tools/program.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <string_view>

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

struct Command {
  std::string_view name;
  void (*add)(CLI::App& program, Action& chosen);
};

constexpr std::array kCommands = {
    Command{"plan", add_plan_command},         Command{"replan", add_replan_command},
    Command{"simulate", add_simulate_command}, Command{"explain", add_explain_command},
    Command{"bound", add_bound_command},       Command{"groups", add_groups_command},
    Command{"check", add_check_command},       Command{"fingerprint", add_fingerprint_command},
    Command{"inspect", add_inspect_command},   Command{"convert", add_convert_command},
    Command{"profile", add_profile_command},   Command{"generate", add_generate_command},
    Command{"collect", add_collect_command},   Command{"train", add_train_command},
    Command{"evaluate", add_evaluate_command},
};

/// To make the options of all commands takes longer than all else before a plan.
bool may_be_meant(const Command& command, const std::vector<std::string>& args) {
  if (args.empty()) return true;
  const std::string& first = args.front();
  if (first == "--version" && args.size() == 1) return false;
  return first == command.name ||
         std::ranges::find(kCommands, first, &Command::name) == kCommands.end();
}

}  // namespace

std::shared_ptr<CLI::App> make_program(Action& chosen, const std::vector<std::string>& args) {
  auto program = std::make_shared<CLI::App>(kDescription, kName);
  program->set_version_flag("--version", version_page);
  program->footer(kFooter);
  program->require_subcommand(1);
  for (const Command& command : kCommands) {
    if (may_be_meant(command, args)) command.add(*program, chosen);
  }
  return program;
}

int run_program(const std::vector<std::string>& args, Console& console) {
  try {
    Action chosen;
    const std::shared_ptr<CLI::App> program = make_program(chosen, args);
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
