#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <new>
#include <sstream>

#include "neuroshard/error.h"
#include "tools/commands.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kDescription =
    "neuroshard plans how the embedding tables of a recommendation model are spread over\n"
    "accelerators, with neural cost models of computation and communication.";

constexpr const char* kFooter =
    "Exit codes: 0 done; 1 some task has no plan; 2 bad input or usage.\n"
    "'neuroshard COMMAND --help' lists the options of a command, with examples.";

int fail(Console& console, const std::string& message) {
  console.err << "neuroshard: error: " << message << '\n' << std::flush;
  return kExitBadInput;
}

std::string usage_hint(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  const std::string name = chosen.empty() ? "" : " " + chosen.front()->get_name();
  return "; see 'neuroshard" + name + " --help'";
}

}  // namespace

int run_program(const std::vector<std::string>& args, Console& console) {
  try {
    CLI::App program(kDescription, "neuroshard");
    program.set_version_flag("--version", "neuroshard " NEUROSHARD_VERSION);
    program.footer(kFooter);
    program.require_subcommand(1);
    Action chosen;
    add_plan_command(program, chosen);
    add_simulate_command(program, chosen);
    add_inspect_command(program, chosen);
    add_convert_command(program, chosen);
    add_profile_command(program, chosen);
    add_generate_command(program, chosen);
    add_collect_command(program, chosen);
    add_train_command(program, chosen);
    add_evaluate_command(program, chosen);
    try {
      // CLI11 takes the arguments last one first.
      program.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != 0) return fail(console, error.what() + usage_hint(program));
      std::ostringstream text;  // Of --help or --version.
      program.exit(error, text, text);
      console.out << text.str() << (text.str().ends_with('\n') ? "" : "\n");
      require_written(console.out, "standard output");
      return kExitOk;
    }
    const int code = chosen(console);
    require_written(console.out, "standard output");
    return code;
  } catch (const std::bad_alloc&) {
    return fail(console, "out of memory");
  } catch (const std::exception& error) {
    return fail(console, error.what());
  }
}

}  // namespace neuroshard::tools
