#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/base/message_text.h"
#include "core/base/random.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "tools/collecting/collect_command.h"
#include "tools/collecting/collect_on_ranks.h"
#include "tools/command_line/options.h"
#include "weights/collection/analytic_comm.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kCollectAllReduceExamples = R"(Examples:
  Measured between 4 threads of this process, in host memory
  neuroshard collect all-reduce --backend local --devices 4 --samples 40 --output data/all_reduce_4
  Measured between the 8 GPUs of a machine, one rank each
  mpirun -np 8 neuroshard collect all-reduce --backend nccl --samples 100 --output data/all_reduce_8
  Devices that are not at hand
  neuroshard collect all-reduce --backend analytic --gpu h100-sxm-80gb --network h100-nvlink4-ndr \
      --output data/all_reduce

Protocol and what is measured: docs/collecting.md. The model: docs/analytic_costs.md.)";

constexpr std::int64_t kMostBytes = std::int64_t{32} << 30;
// Each rank that measures holds gradients and weights of so many bytes.
constexpr std::int64_t kMostBytesOnGpus = std::int64_t{1} << 30;
constexpr std::int64_t kMostBytesInHostMemory = std::int64_t{64} << 20;
constexpr std::int64_t kLeastMostBytes = 4096;
constexpr std::int64_t kMostBytesOfRanks = std::int64_t{4} << 30;

struct CollectAllReduce {
  CollectionOptions collection;
  RankOptions ranks;
  std::string gpu = std::string(kDefaultGpu);
  std::string network = std::string(kDefaultNetwork);
  std::vector<int> devices;
  std::optional<std::int64_t> max_bytes;
};

// Costs jump where devices fill a node, or one more.
std::vector<int> usual_device_counts() {
  std::vector<int> counts;
  for (int count = 1; count <= 40; ++count) counts.push_back(count);
  for (int count = 48; count <= 128; count += 8) counts.push_back(count);
  for (int count = 160; count <= kMostDevicesOfModels; count += 32) counts.push_back(count);
  return counts;
}

std::int64_t most_bytes_of(const CollectAllReduce& command) {
  const std::string& backend = command.ranks.backend;
  const bool analytic = backend == "analytic";
  if (!command.max_bytes) {
    if (analytic) return kMostBytes;
    return backend == "nccl" ? kMostBytesOnGpus : kMostBytesInHostMemory;
  }
  const std::int64_t most = analytic ? kMostBytes : kMostBytesOfRanks;
  if (*command.max_bytes < kLeastMostBytes || *command.max_bytes > most) {
    throw Error("--max-bytes is " + std::to_string(*command.max_bytes) + "; give " +
                std::to_string(kLeastMostBytes) + " to " + std::to_string(most));
  }
  return *command.max_bytes;
}

/// Sample after sample, of the numbers of devices by turns.
int record(const CollectAllReduce& command, const std::vector<int>& counts,
           CollectionDescription description,
           const std::function<double(int devices, std::int64_t bytes)>& cost_ms,
           Console& console) {
  const std::int64_t most_bytes = most_bytes_of(command);
  description.insert({{"kind", "all-reduce"},
                      {"seed", std::to_string(command.collection.seed)},
                      {"devices", joined(counts, ",")},
                      {"max_bytes", std::to_string(most_bytes)}});
  prepare_collection(command.collection.output, description, {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    while (log.size() < run.samples && !run.should_stop()) {
      Random random(run.seed, log.size());
      const int devices = counts[log.size() % counts.size()];
      const std::int64_t bytes = draw_collective_bytes(most_bytes, random);
      log.append(collective_sample_line(devices, bytes, cost_ms(devices, bytes)));
      run.progress(log.size());
    }
  });
}

// Throws Error unless all-reduces between so many ranks can be measured.
void require_devices(const CollectAllReduce& command, int devices) {
  require_runs(command.ranks.protocol);
  if (devices < 2 || devices > kMostDevicesOfModels) {
    throw Error("--devices is " + std::to_string(devices) +
                "; all-reduces are measured between 2 to " + std::to_string(kMostDevicesOfModels) +
                " devices");
  }
  (void)most_bytes_of(command);
}

int measure(const CollectAllReduce& command, Console& console) {
  RankOptions options = command.ranks;
  if (command.devices.size() > 1) {
    throw Error("--devices names " + std::to_string(command.devices.size()) +
                " numbers; --backend " + options.backend + " measures between those of one");
  }
  if (!command.devices.empty()) options.devices = command.devices.front();
  const RankSamples samples{
      .check = [&](int devices) { require_devices(command, devices); },
      .record =
          [&](ranks::RankSource& source, int devices, const CollectionDescription& measured) {
            return record(
                command, {devices}, measured,
                [&](int, std::int64_t bytes) { return source.all_reduce_ms(bytes); }, console);
          }};
  return collect_on_ranks(options, samples, console);
}

int run(const CollectAllReduce& command, Console& console) {
  require_rank_options(command.ranks);
  if (command.ranks.backend != "analytic") return measure(command, console);
  const GpuSpec& gpu = gpu_named(command.gpu);
  const NetworkSpec& network = network_named(command.network);
  const auto cost_ms = [&](int devices, std::int64_t bytes) {
    return analytic_all_reduce(gpu, network, devices, static_cast<double>(bytes));
  };
  const std::vector<int> counts = command.devices.empty() ? usual_device_counts() : command.devices;
  for (const int count : counts) (void)cost_ms(count, 1);  // Fails before there is a folder.
  return record(command, counts,
                {{"source", command.ranks.backend},
                 {"hardware", std::string(network.name) + ", " + std::string(gpu.name)}},
                cost_ms, console);
}

}  // namespace

void add_collect_all_reduce(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectAllReduce>();
  CLI::App* command =
      collect.add_subcommand("all-reduce", "Cost of keeping replicated tables alike");
  command->footer(kCollectAllReduceExamples);
  add_collection_options(*command, options->collection);
  add_rank_options(*command, options->ranks);
  add_gpu_option(*command, options->gpu);
  add_network_option(*command, options->network);
  const command_line::OptionGroup general(*command);
  general
      .add("--devices", "N,...", options->devices,
           "Analytic: numbers of devices, in turn; default: 1 to 1,024, all that nodes of 8 tell "
           "apart up to 40. Local: threads. mpi, nccl: one per rank, may be left out")
      ->delimiter(',');
  general.add("--max-bytes", "BYTES", options->max_bytes,
              "Most bytes of a sample's gradients; default: 32 GiB analytic, 1 GiB on GPUs, "
              "64 MiB in host memory");
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace neuroshard::tools
