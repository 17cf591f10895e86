#pragma once

#include <string>
#include <vector>

#include "neuroshard/overlap.h"

namespace neuroshard::command_line {
class OptionGroup;
}

namespace neuroshard::tools {

/// --overlap: "ids" or "FIELD=MS", as `overlap` of a task file has them.
void add_overlap_option(const command_line::OptionGroup& group, std::vector<std::string>& stated);

/// Each takes the place of one field. Throws Error naming the option.
void apply_overlap(const std::vector<std::string>& stated, Overlap& overlap);

}  // namespace neuroshard::tools
