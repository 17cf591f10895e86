#include "tools/options/stated_fields.h"

#include <CLI/CLI.hpp>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "tools/command_line/options.h"

namespace neuroshard::tools {

void add_fields_option(const command_line::OptionGroup& group, const FieldsOption& option,
                       std::vector<std::string>& stated) {
  group.add(option.name, option.type_name, stated, option.help)
      ->delimiter(',')
      ->allow_extra_args(false);
}

void apply_fields(const FieldsOption& option, const std::vector<std::string>& stated,
                  const std::function<void(std::string_view, std::optional<std::string_view>)>& set,
                  const std::function<std::optional<std::string>()>& problem) {
  try {
    for (const std::string_view text : stated) {
      const std::size_t equals = text.find('=');
      if (equals == std::string_view::npos) {
        set(text, std::nullopt);
      } else {
        set(text.substr(0, equals), text.substr(equals + 1));
      }
    }
    if (const auto found = problem()) throw Error(*found);
  } catch (const Error& error) {
    throw Error(std::string(option.name) + ": " + error.what());
  }
}

bool flag_of(std::string_view name, std::optional<std::string_view> value) {
  if (!value || *value == "true") return true;
  if (*value == "false") return false;
  throw Error(std::string(name) + " is '" + printable(*value) +
              "'; give true or false, or no value for true");
}

void reject_field(std::string_view name, const std::string& names) {
  throw Error("there is no '" + printable(name) + "'; use " + names);
}

}  // namespace neuroshard::tools
