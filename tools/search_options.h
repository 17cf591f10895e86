#pragma once

#include <string>

#include "neuroshard/planner.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --backend and --threads: what every command that evaluates costs has.
void add_backend_options(CLI::App& command, PlannerOptions& options);

/// --algorithm, --effort and the sizes of the published search. The names are for
/// algorithm_from_name and effort_from_name.
void add_search_options(CLI::App& command, PlannerOptions& options, std::string& algorithm,
                        std::string& effort);

/// --format and --output.
void add_output_options(CLI::App& command, std::string& format, std::string& output);

}  // namespace neuroshard::tools
