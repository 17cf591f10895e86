#pragma once

#include <string>
#include <vector>

#include "neuroshard/overlap.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --overlap: "ids" or "FIELD=MS", as `overlap` of a task file has them.
void add_overlap_option(CLI::App& command, std::vector<std::string>& stated,
                        const std::string& group);

/// Each takes the place of one field. Throws Error naming the option.
void apply_overlap(const std::vector<std::string>& stated, Overlap& overlap);

}  // namespace neuroshard::tools
