#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "core/base/random.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "tools/collecting/collect_command.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kCollectAllReduceExamples = R"(Example:
  neuroshard collect all-reduce --backend analytic --gpu h100-sxm-80gb --network h100-nvlink4-ndr \
      --output data/all_reduce

The model: docs/analytic_costs.md.)";

struct CollectAllReduce {
  CollectionOptions collection;
  std::string backend;
  std::string gpu = std::string(kDefaultGpu);
  std::string network = std::string(kDefaultNetwork);
  std::vector<int> devices;
};

// Costs jump where devices fill a node, or one more.
std::vector<int> usual_device_counts() {
  std::vector<int> counts;
  for (int count = 1; count <= 40; ++count) counts.push_back(count);
  for (int count = 48; count <= 128; count += 8) counts.push_back(count);
  for (int count = 160; count <= kMostDevicesOfModels; count += 32) counts.push_back(count);
  return counts;
}

int run(const CollectAllReduce& command, Console& console) {
  if (command.backend != "analytic") {
    throw Error("--backend '" + command.backend + "' is not known; give analytic");
  }
  const GpuSpec& gpu = gpu_named(command.gpu);
  const NetworkSpec& network = network_named(command.network);
  const std::vector<int> counts = command.devices.empty() ? usual_device_counts() : command.devices;
  std::string list;
  for (const int count : counts) {
    (void)analytic_all_reduce(gpu, network, count, 1.0);  // Fails before there is a folder.
    list += (list.empty() ? "" : ",") + std::to_string(count);
  }
  prepare_collection(command.collection.output,
                     {{"kind", "all-reduce"},
                      {"source", command.backend},
                      {"hardware", std::string(network.name) + ", " + std::string(gpu.name)},
                      {"seed", std::to_string(command.collection.seed)},
                      {"devices", list}},
                     {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    constexpr double kLeastBytes = 1024.0;
    constexpr double kMostBytes = 34359738368.0;
    while (log.size() < run.samples && !run.should_stop()) {
      Random random(run.seed, log.size());
      const int devices = counts[log.size() % counts.size()];
      const auto bytes = std::llround(random.log_uniform(kLeastBytes, kMostBytes));
      log.append(all_reduce_sample_line(
          devices, bytes, analytic_all_reduce(gpu, network, devices, static_cast<double>(bytes))));
      run.progress(log.size());
    }
  });
}

}  // namespace

void add_collect_all_reduce(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectAllReduce>();
  CLI::App* command =
      collect.add_subcommand("all-reduce", "Cost of keeping replicated tables alike");
  command->footer(kCollectAllReduceExamples);
  add_collection_options(*command, options->collection);
  command->add_option("--backend", options->backend, "analytic")->required();
  add_gpu_option(*command, options->gpu);
  add_network_option(*command, options->network);
  command
      ->add_option(
          "--devices", options->devices,
          "Numbers of devices, in turn; default: 1 to 1,024, all that nodes of 8 tell apart "
          "up to 40")
      ->delimiter(',')
      ->type_name("N,...");
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

}  // namespace neuroshard::tools
