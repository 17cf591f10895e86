#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace neuroshard::command_line {

/// CLI11's help, its descriptions broken between words to stay within 100 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option,
                                        bool is_positional) const override;
  [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace neuroshard::command_line
