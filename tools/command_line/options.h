#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace neuroshard::command_line {

/// Adds options to a command, under one heading of its help.
class OptionGroup {
 public:
  explicit OptionGroup(CLI::App& command, std::string heading = "Options")
      : command_(&command), heading_(std::move(heading)) {}

  template <typename Value>
  CLI::Option* add(const std::string& name, Value& value, const std::string& help) const {
    return command_->add_option(name, value, help)->group(heading_);
  }
  /// `type` is what help calls the value, in place of its kind.
  template <typename Value>
  CLI::Option* add(const std::string& name, const char* type, Value& value,
                   const std::string& help) const {
    return add(name, value, help)->type_name(type);
  }

  /// Help also shows the value that `value` has now.
  template <typename Value>
  CLI::Option* with_default(const std::string& name, Value& value, const std::string& help) const {
    return add(name, value, help)->capture_default_str();
  }
  template <typename Value>
  CLI::Option* with_default(const std::string& name, const char* type, Value& value,
                            const std::string& help) const {
    return add(name, type, value, help)->capture_default_str();
  }

  CLI::Option* flag(const std::string& name, bool& value, const std::string& help) const {
    return command_->add_flag(name, value, help)->group(heading_);
  }

 private:
  CLI::App* command_;
  std::string heading_;
};

/// If `command` is given, what the program does becomes `run` with the options of the command.
template <typename Options, typename Result, typename Output>
void run_if_given(CLI::App& command, std::function<Result(Output&)>& chosen,
                  std::shared_ptr<Options> options,
                  std::type_identity_t<Result (*)(const Options&, Output&)> run) {
  command.callback([options = std::move(options), run, &chosen] {
    chosen = [options, run](Output& output) { return run(*options, output); };
  });
}

}  // namespace neuroshard::command_line
