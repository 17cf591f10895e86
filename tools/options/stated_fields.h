#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::command_line {
class OptionGroup;
}

namespace neuroshard::tools {

/// An option by which fields of a task are stated, "FIELD=VALUE,...".
struct FieldsOption {
  const char* name;
  const char* help;
  const char* type_name;
};

void add_fields_option(const command_line::OptionGroup& group, const FieldsOption& option,
                       std::vector<std::string>& stated);

/// Calls `set(name, value)` for each that is stated; without a '=' there is no value. Throws Error
/// naming the option if that does, or if there is a problem afterwards.
void apply_fields(const FieldsOption& option, const std::vector<std::string>& stated,
                  const std::function<void(std::string_view, std::optional<std::string_view>)>& set,
                  const std::function<std::optional<std::string>()>& problem);

/// True without a value.
[[nodiscard]] bool flag_of(std::string_view name, std::optional<std::string_view> value);

/// `names`: "forward, backward".
[[noreturn]] void reject_field(std::string_view name, const std::string& names);

}  // namespace neuroshard::tools
