#include "tools/command_line/help_formatter.h"

#include "tools/text/text.h"

namespace neuroshard::command_line {
namespace {

std::string two_columns(const std::string& name, const std::string& description,
                        std::size_t column) {
  const std::string left = "  " + name;
  if (description.empty()) return left + '\n';
  const auto indent = static_cast<int>(column);
  if (left.size() < column) return tools::paragraph(left, description, indent, {});
  return left + '\n' + tools::paragraph("", description, indent, {});
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                     make_option_desc(option), get_column_width());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  return two_columns(command->get_name(), command->get_description(), get_column_width());
}

}  // namespace neuroshard::command_line
