#pragma once

#include <string>
#include <vector>

#include "bench/inputs/plan_cases.h"
#include "bench/inputs/task_sets.h"
#include "bench/machine/machine_context.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/planner.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace neuroshard::bench {

/// Options that all sub-commands take.
struct CommonOptions {
  std::string data = "tests/data/golden";
  std::string weights = "checkpoints";
  std::string json;
};
void add_common_options(CLI::App& command, CommonOptions& options);

/// Models of `--weights`: a file, "builtin", or "checkpoints", the published ones in `--data`.
[[nodiscard]] CostModels load_models(const CommonOptions& options);

/// Which task sets, and how much of each.
struct SetOptions {
  std::vector<std::string> names;  ///< Empty: the command's choice.
  std::size_t max_tasks = 100000;
};
void add_set_options(CLI::App& command, SetOptions& options, const std::string& default_sets);

/// Adds --set-folder, or what `folder_option` calls it, --sets, --devices of at least
/// `least_devices`, and --memory-gb.
void add_table_set_options(CLI::App& command, TableSetOptions& options, int least_devices = 1,
                           const std::string& folder_option = "--set-folder");

/// Accepts times between the two, in seconds; not NaN, which comparisons let pass.
[[nodiscard]] CLI::Validator seconds_between(double least, double most);

void add_search_options(CLI::App& command, SearchOptions& options);

/// "beam 3, candidates 10, splits 10, grid 11"
[[nodiscard]] std::string text_of(const SearchOptions& options);

/// The best CPU backend that runs here, and "cuda" if a device can be used.
[[nodiscard]] std::vector<std::string> default_backends();

/// "1,2" where there are two cores: one thread, and all of them.
[[nodiscard]] std::vector<int> default_thread_counts();

}  // namespace neuroshard::bench
