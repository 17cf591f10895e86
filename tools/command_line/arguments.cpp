#include "tools/command_line/arguments.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <memory>
#include <ostream>
#include <sstream>

#include "core/base/message_text.h"
#include "core/base/nearest_name.h"
#include "tools/command_line/help_formatter.h"

namespace neuroshard::command_line {
namespace {

void use_formatter(CLI::App& app, const std::shared_ptr<CLI::FormatterBase>& formatter) {
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands({})) use_formatter(*command, formatter);
}

/// "neuroshard collect compute", as far as commands were given, and the last of them.
struct ChosenCommand {
  std::string path;
  const CLI::App* app;
};

ChosenCommand chosen_command(const CLI::App& program) {
  ChosenCommand chosen{program.get_name(), &program};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.path += ' ' + chosen.app->get_name();
  }
  return chosen;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  std::string_view nearest = nearest_name(typed, names);
  const auto longer =
      std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(typed); });
  if (nearest.empty() && longer != names.end()) nearest = *longer;
  return nearest.empty() ? "" : "; did you mean '" + std::string(nearest) + "'?";
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
  const auto named =
      app.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == name; });
  return named.empty() ? nullptr : named.front();
}

/// Says what is wrong with the first name that does not exist; empty if all of them do.
std::string unknown_name(const CLI::App& program, const std::vector<std::string>& args) {
  const CLI::App* app = &program;
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (arg.starts_with("--")) {
      const std::string name = arg.substr(0, arg.find('='));
      if (app->get_option_no_throw(name) != nullptr) continue;
      return "there is no option '" + name + "'" + did_you_mean(name, option_names(*app));
    }
    if (arg.starts_with('-')) continue;
    const std::vector<std::string> commands = command_names(*app);
    if (commands.empty()) continue;  // A value of an option.
    if (app->get_option_no_throw(arg) != nullptr) continue;
    const CLI::App* const command = command_named(*app, arg);
    if (command == nullptr) {
      return "there is no command '" + arg + "'" + did_you_mean(arg, commands);
    }
    app = command;
  }
  return "";
}

constexpr char kBetweenItems = ',';

bool is_list(const CLI::Option& option) { return option.get_delimiter() == kBetweenItems; }

bool has_empty_item(std::string_view list) {
  if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
  return list.empty() || list.front() == kBetweenItems || list.back() == kBetweenItems ||
         list.find(std::string{kBetweenItems, kBetweenItems}) != std::string_view::npos;
}

/// Says what is wrong with the first list of which an item is empty; empty if there is none. CLI11
/// leaves such items out: "4," would be 4.
std::string empty_item(const CLI::App& program, const std::vector<std::string>& args) {
  const CLI::App* app = &program;
  const CLI::Option* list = nullptr;  // That the next value is of.
  for (const std::string& arg : args) {
    if (arg == "--") break;
    std::optional<std::string> value;
    if (arg.starts_with("--")) {
      const std::size_t end = std::min(arg.find('='), arg.size());
      const CLI::Option* const option = app->get_option_no_throw(arg.substr(0, end));
      list = option != nullptr && is_list(*option) ? option : nullptr;
      if (end < arg.size()) value = arg.substr(end + 1);
    } else if (list != nullptr) {
      value = arg;
    } else if (const CLI::App* const command = command_named(*app, arg)) {
      app = command;
    }
    if (list != nullptr && value && has_empty_item(*value)) {
      return list->get_name() + ": '" + *value + "' has an empty item; " +
             (value->find(kBetweenItems) != std::string::npos
                  ? "write what is missing, or leave out the comma"
                  : "give some, with a comma between two");
    }
  }
  return "";
}

/// A list of texts always converts.
bool is_of_numbers(const CLI::App& app, const CLI::ConversionError& error) {
  return std::ranges::any_of(app.get_options(), [&](const CLI::Option* option) {
    return is_list(*option) && std::string_view(error.what()).find(option->get_name() + " = ") !=
                                   std::string_view::npos;
  });
}

std::string usage_error(const CLI::App& program, const CLI::ParseError& error,
                        const std::vector<std::string>& args) {
  const ChosenCommand chosen = chosen_command(program);
  std::string message;
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    message = unknown_name(program, args);
  }
  if (message.empty()) message = error.what();
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && message == error.what()) {
    message += "; name its option before it, and put commas between the items of a list";
  }
  const auto* const conversion = dynamic_cast<const CLI::ConversionError*>(&error);
  if (conversion != nullptr && is_of_numbers(*chosen.app, *conversion)) {
    message += "; give numbers with a comma between two, e.g. 4,8";
  }
  return message + (message.ends_with('?') ? " See '" : "; see '") + chosen.path + " --help'";
}

// A closed standard stream would lend its number to the next file opened, and what is meant for
// the stream would land in that file. /dev/null, opened the wrong way round, makes it fail instead.
void occupy_closed_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    const int mode = descriptor == 0 ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != descriptor) ::_exit(kExitBadInput);
  }
}

}  // namespace

std::optional<ExitCode> parse(CLI::App& program, const std::vector<std::string>& args,
                              std::ostream& out, std::ostream& err) {
  use_formatter(program, std::make_shared<HelpFormatter>());
  if (const std::string wrong = empty_item(program, args); !wrong.empty()) {
    return fail(err, program.get_name(), wrong);
  }
  try {
    // CLI11 takes the arguments last one first.
    program.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      return fail(err, program.get_name(), usage_error(program, error, args));
    }
    std::ostringstream text;  // Text of --help or --version.
    program.exit(error, text, text);
    out << text.str() << (text.str().ends_with('\n') ? "" : "\n");
    return kExitOk;
  }
}

ExitCode fail(std::ostream& err, const std::string& program, const std::string& message) {
  err << program << ": error: " << printable(message) << '\n' << std::flush;
  return kExitBadInput;
}

void prepare_process() {
  occupy_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace neuroshard::command_line
