#pragma once

#include <string>

#include "neuroshard/planner.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --backend and --threads: what every command that evaluates costs has.
void add_backend_options(CLI::App& command, PlannerOptions& options);

/// How to search, as it is given: algorithm, effort and cuts by their names.
struct SearchChoice {
  PlannerOptions planner;
  std::string algorithm = "neuroshard";
  std::string effort = "default";
  std::string cuts;    ///< Empty: by the weights.
  std::string policy;  ///< Its file; empty: none.

  /// Throws Error listing the names if one is unknown, or if the policy cannot be read.
  [[nodiscard]] PlannerOptions options() const;
};

/// --algorithm, --policy, --effort, --cuts and the sizes of the published search.
void add_search_options(CLI::App& command, SearchChoice& choice);
/// --effort alone.
void add_effort_option(CLI::App& command, SearchChoice& choice);
/// --equal-widths and --cuts.
void add_cut_options(CLI::App& command, SearchChoice& choice);

/// --format and --output.
void add_output_options(CLI::App& command, std::string& format, std::string& output);

}  // namespace neuroshard::tools
