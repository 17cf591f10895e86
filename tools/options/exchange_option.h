#pragma once

#include <string>
#include <vector>

#include "neuroshard/exchange_types.h"

namespace neuroshard::command_line {
class OptionGroup;
}

namespace neuroshard::tools {

/// --exchange-types: "FIELD=VALUE", as `exchange` of a task file has them.
void add_exchange_option(const command_line::OptionGroup& group, std::vector<std::string>& stated);

/// Each takes the place of one field. Throws Error naming the option.
void apply_exchange(const std::vector<std::string>& stated, ExchangeTypes& exchange);

}  // namespace neuroshard::tools
