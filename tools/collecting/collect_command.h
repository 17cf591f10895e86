#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/commands.h"
#include "weights/collection/collect_samples.h"

namespace neuroshard::tools {

/// Options that both kinds of collection have in common.
struct CollectionOptions {
  std::uint64_t samples = 100'000;
  std::uint64_t seed = 0;
  std::string output;
};

void add_collection_options(CLI::App& command, CollectionOptions& options);

/// Which datasheets the analytic backend goes by.
void add_gpu_option(CLI::App& command, std::string& gpu);
void add_network_option(CLI::App& command, std::string& network);

/// Opens the log of `options.output`, lets `collect(run, log)` add samples with a progress bar
/// until there are enough or Ctrl-C is pressed, and reports. Returns an exit code.
int run_collection(const CollectionOptions& options, Console& console,
                   const std::function<void(const CollectionRun&, SampleLog&)>& collect);

// Sub-commands of `collect`.
void add_collect_compute(CLI::App& collect, Action& chosen);
void add_collect_comm(CLI::App& collect, Action& chosen);
void add_collect_all_reduce(CLI::App& collect, Action& chosen);
void add_collect_plans(CLI::App& collect, Action& chosen);

}  // namespace neuroshard::tools
