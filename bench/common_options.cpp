#include "bench/common_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <thread>

#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {

void add_common_options(CLI::App& command, CommonOptions& options) {
  const command_line::OptionGroup general(command);
  general.with_default("--data", "FOLDER", options.data,
                       "Folder of tables, tasks, checkpoints and published plans");
  general.with_default("--weights", "FILE", options.weights,
                       "Weights file, 'builtin', or 'checkpoints': those in --data");
  general.add("--json", "FILE", options.json, "File for results, as Google Benchmark writes them");
}

CostModels load_models(const CommonOptions& options) {
  if (options.weights == "checkpoints") return GoldenFolder(options.data).models();
  return options.weights == "builtin" ? builtin_weights() : load_weights(options.weights);
}

void add_set_options(CLI::App& command, SetOptions& options, const std::string& default_sets) {
  const command_line::OptionGroup general(command);
  general
      .add("--sets", "NAME,...", options.names,
           "Task sets of --data, e.g. 4gpu_dim128 (default: " + default_sets + ")")
      ->delimiter(',');
  general.add("--tasks", options.max_tasks, "Most tasks of each set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
}

void add_table_set_options(CLI::App& command, TableSetOptions& options, int least_devices,
                           const std::string& folder_option) {
  const command_line::OptionGroup general(command);
  general.with_default(folder_option, "FOLDER", options.folder, "Folder of table sets");
  general.add("--sets", options.names, "Table sets; default: all")->delimiter(',');
  general.with_default("--devices", options.devices, "Device counts")
      ->delimiter(',')
      ->check(CLI::Range(least_devices, kMaxDevices));
  general.with_default("--memory-gb", options.memory_gib, "GiB of a device");
}

CLI::Validator seconds_between(double least, double most) {
  std::ostringstream range;
  range << least << " to " << most << " seconds";
  const auto check = [least, most, text = range.str()](const std::string& input) {
    double value = 0.0;
    if (CLI::detail::lexical_cast(input, value) && value >= least && value <= most) {
      return std::string();
    }
    return "Value " + input + " is not in the range of " + text;
  };
  return {check, "in [" + range.str() + "]"};
}

void add_search_options(CLI::App& command, SearchOptions& options) {
  const command_line::OptionGroup search(command, "Search");
  search.with_default("--beam-width", options.beam_width, "States kept per level");
  search.with_default("--candidates", options.candidates,
                      "Tables tried per state, by size and by cost");
  search.with_default("--max-splits", options.max_splits, "Levels of column splits");
  search.with_default("--grid-steps", options.grid_steps, "Limits on a device's dim sum");
}

std::string text_of(const SearchOptions& options) {
  return "beam " + std::to_string(options.beam_width) + ", candidates " +
         std::to_string(options.candidates) + ", splits " + std::to_string(options.max_splits) +
         ", grid " + std::to_string(options.grid_steps);
}

std::vector<std::string> default_backends() {
  std::vector<std::string> names = {available_cpu_backends().front()};
  const std::vector<CudaDevice> devices = cuda_devices();
  if (std::any_of(devices.begin(), devices.end(), [](const auto& d) { return d.usable; })) {
    names.emplace_back(kCudaBackend);
  }
  return names;
}

std::vector<int> default_thread_counts() {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return cores == 1 ? std::vector{1} : std::vector{1, cores};
}

}  // namespace neuroshard::bench
