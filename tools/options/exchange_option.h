#pragma once

#include <string>
#include <vector>

#include "neuroshard/exchange_types.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --exchange-types: "FIELD=VALUE", as `exchange` of a task file has them.
void add_exchange_option(CLI::App& command, std::vector<std::string>& stated,
                         const std::string& group);

/// Each takes the place of one field. Throws Error naming the option.
void apply_exchange(const std::vector<std::string>& stated, ExchangeTypes& exchange);

}  // namespace neuroshard::tools
