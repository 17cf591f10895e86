#include "bench/common_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <thread>

#include "neuroshard/backend.h"
#include "neuroshard/cuda_backend.h"
#include "neuroshard/weights.h"

namespace neuroshard::bench {

void add_common_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--data", options.data,
                  "Folder of tables, tasks, checkpoints and published plans")
      ->type_name("FOLDER")
      ->capture_default_str();
  command
      .add_option("--weights", options.weights,
                  "Weights file, 'builtin', or 'checkpoints': those in --data")
      ->type_name("FILE")
      ->capture_default_str();
  command.add_option("--json", options.json, "File for results, as Google Benchmark writes them")
      ->type_name("FILE");
}

CostModels load_models(const CommonOptions& options) {
  if (options.weights == "checkpoints") return GoldenFolder(options.data).models();
  return options.weights == "builtin" ? builtin_weights() : load_weights(options.weights);
}

void add_set_options(CLI::App& command, SetOptions& options, const std::string& default_sets) {
  command
      .add_option("--sets", options.names,
                  "Task sets of --data, e.g. 4gpu_dim128 (default: " + default_sets + ")")
      ->delimiter(',')
      ->type_name("NAME,...");
  command.add_option("--tasks", options.max_tasks, "Most tasks of each set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}));
}

void add_table_set_options(CLI::App& command, TableSetOptions& options, int least_devices,
                           const std::string& folder_option) {
  command.add_option(folder_option, options.folder, "Folder of table sets")
      ->type_name("FOLDER")
      ->capture_default_str();
  command.add_option("--sets", options.names, "Table sets; default: all")->delimiter(',');
  command.add_option("--devices", options.devices, "Device counts")
      ->delimiter(',')
      ->check(CLI::Range(least_devices, kMaxDevices))
      ->capture_default_str();
  command.add_option("--memory-gb", options.memory_gib, "GiB of a device")->capture_default_str();
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
  const auto add = [&](const char* name, int& value, const char* description) {
    command.add_option(name, value, description)->capture_default_str()->group("Search");
  };
  add("--beam-width", options.beam_width, "States kept per level");
  add("--candidates", options.candidates, "Tables tried per state, by size and by cost");
  add("--max-splits", options.max_splits, "Levels of column splits");
  add("--grid-steps", options.grid_steps, "Limits on a device's dim sum");
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
