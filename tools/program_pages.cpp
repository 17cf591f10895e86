#include "tools/program_pages.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/version.h"

namespace neuroshard::tools {
namespace {

/// A command with the names of those that it is below: {"collect", "compute"}. The program: {}.
using Path = std::vector<std::string>;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void visit_commands(const CLI::App& app, const Path& path,
                    const std::function<void(const CLI::App&, const Path&)>& visit) {
  visit(app, path);
  for (const CLI::App* command : commands_of(app)) {
    Path below = path;
    below.push_back(command->get_name());
    visit_commands(*command, below, visit);
  }
}

/// "-h", "--help".
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() != 0; }

bool takes_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "DIR" || type == "PATH";
}

/// `text` with each of `characters` after a backslash.
std::string backslashed(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

/// Text for roff: hyphens that can be copied, and no line that is a request.
std::string roff(std::string_view text) {
  std::string result;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string man_option(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : names_of(option)) {
    names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  }
  if (names.empty()) names = "\\fI" + roff(option.get_name()) + "\\fR";
  if (takes_value(option)) names += " \\fI" + roff(option.get_type_name()) + "\\fR";
  std::string text = ".TP\n" + names + '\n' + roff(option.get_description());
  if (!option.get_default_str().empty()) text += " (" + roff(option.get_default_str()) + ")";
  return text + '\n';
}

/// A footer: examples and lists, with line breaks of their own.
std::string man_verbatim(const std::string& text) {
  return text.empty() ? "" : ".PP\n.nf\n" + roff(text) + "\n.fi\n";
}

std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + '\'';
}

/// "'plan' | 'collect' | 'collect compute'": what a case of the shell takes for a command.
std::string all_commands(const CLI::App& program) {
  std::vector<std::string> patterns;
  visit_commands(program, {}, [&](const CLI::App&, const Path& path) {
    if (!path.empty()) patterns.push_back(in_quotes(joined(path, " ")));
  });
  return joined(patterns, " | ");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string man_page(const CLI::App& program) {
  const std::string& name = program.get_name();
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = ".TH " + upper + " 1 \"\" \"" + name +
                     " " NEUROSHARD_VERSION "\"\n.SH NAME\n" + name +
                     " \\- plans of how embedding tables are spread over accelerators\n" +
                     ".SH SYNOPSIS\n.B " + name + "\n.I COMMAND\n[\\fIOPTION\\fR]...\n";
  text += ".SH DESCRIPTION\n" + roff(program.get_description()) + '\n';
  visit_commands(program, {}, [&](const CLI::App& app, const Path& path) {
    if (path.empty()) {
      text += ".SH OPTIONS\n";
    } else {
      text +=
          ".SH " + roff(name + ' ' + joined(path, " ")) + '\n' + roff(app.get_description()) + '\n';
    }
    for (const CLI::Option* option : app.get_options()) text += man_option(*option);
    text += man_verbatim(app.get_footer());
  });
  return text;
}

std::string bash_completion(const CLI::App& program) {
  std::string cases;
  visit_commands(program, {}, [&](const CLI::App& app, const Path& path) {
    std::vector<std::string> words;
    std::vector<std::string> files;
    std::vector<std::string> values;
    for (const CLI::App* command : commands_of(app)) words.push_back(command->get_name());
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : names_of(*option)) {
        words.push_back(name);
        if (takes_value(*option)) (takes_file(*option) ? files : values).push_back(name);
      }
    }
    cases += "    " + in_quotes(joined(path, " ")) +
             ")\n      words=" + in_quotes(joined(words, " ")) +
             "\n      files=" + in_quotes(joined(files, " ")) +
             "\n      values=" + in_quotes(joined(values, " ")) + "\n      ;;\n";
  });
  const std::string& name = program.get_name();
  return "# bash completion for " + name + R"(, made from its options.
_)" + name +
         R"(() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "${command:+$command }${COMP_WORDS[i]}" in
      )" +
         all_commands(program) +
         R"()
        command="${command:+$command }${COMP_WORDS[i]}"
        ;;
    esac
  done
  local words='' files='' values=''
  case "$command" in
)" + cases +
         R"(  esac
  COMPREPLY=()
  if [[ " $files " == *" $previous "* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ " $values " != *" $previous "* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}
complete -F _)" +
         name + ' ' + name + '\n';
}

std::string zsh_completion(const CLI::App& program) {
  std::string cases;
  visit_commands(program, {}, [&](const CLI::App& app, const Path& path) {
    std::string arguments;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : names_of(*option)) {
        std::string argument =
            name + '[' + backslashed(first_line(option->get_description()), "[]:\\") + ']';
        if (takes_value(*option)) {
          argument += ':' + backslashed(option->get_type_name(), ":\\") + ':';
          if (takes_file(*option)) argument += "_files";
        }
        arguments += " \\\n        " + in_quotes(argument);
      }
    }
    std::string commands;
    for (const CLI::App* command : commands_of(app)) {
      commands += ' ' + in_quotes(command->get_name() + ':' +
                                  backslashed(command->get_description(), ":\\"));
    }
    cases += "    " + in_quotes(joined(path, " ")) + ")\n";
    if (!commands.empty()) {
      cases += "      commands=(" + commands + ")\n";
      arguments += " \\\n        '1:command:->command'";
    }
    cases += "      _arguments" + arguments + "\n      ;;\n";
  });
  const std::string& name = program.get_name();
  return "#compdef " + name + "\n# zsh completion for " + name + R"(, made from its options.
_)" + name +
         R"(() {
  local command='' state line
  local -a commands
  local -i i at=1
  for ((i = 2; i < CURRENT; ++i)); do
    case "${command:+$command }$words[i]" in
      ()" +
         all_commands(program) +
         R"()
        command="${command:+$command }$words[i]"
        at=$i
        ;;
    esac
  done
  # Words before the options of a command are not looked at.
  words=("${(@)words[at,-1]}")
  ((CURRENT -= at - 1))
  case "$command" in
)" + cases +
         R"(  esac
  if [[ $state == command ]]; then _describe command commands; fi
}
_)" + name +
         " \"$@\"\n";
}

}  // namespace neuroshard::tools
