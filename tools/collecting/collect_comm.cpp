#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "tools/collecting/collect_command.h"
#include "tools/collecting/collect_on_ranks.h"
#include "tools/collecting/comm_draw_options.h"
#include "tools/command_line/options.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kCollectCommExamples = R"(Examples:
  Measured between 4 threads of this process, in host memory
  neuroshard collect comm --backend local --devices 4 --output data/comm_4
  Measured between the 8 GPUs of a machine, one rank each
  mpirun -np 8 neuroshard collect comm --backend nccl --output data/comm_8
  Measured between 4 processes, in host memory
  mpirun -np 4 neuroshard collect comm --backend mpi --output data/comm_4
  20,000 samples for 16 devices of 8 a node that are not at hand
  neuroshard collect comm --backend analytic --network h100-nvlink4-ndr --devices 16 \
      --samples 20000 --output data/comm_16

Protocol and what is measured: docs/collecting.md. The models: docs/analytic_costs.md.)";

struct CollectComm {
  CollectionOptions collection;
  RankOptions ranks;
  CommDrawOptions draw;
  std::string network = std::string(kDefaultNetwork);
  std::int64_t batch = kDefaultBatchSize;
};

// Throws Error unless a sample of so many devices can be drawn, its batch divided, and costs
// measured.
void require_draws(const CollectComm& command, int devices) {
  if (command.batch < 1) {
    throw Error("--batch is " + std::to_string(command.batch) + "; give at least 1");
  }
  require_runs(command.ranks.protocol);
  CommDrawOptions draw = command.draw;
  draw.devices = devices;
  Random random(command.collection.seed);
  (void)draw_comm(draw, random);
  if (command.ranks.backend != "analytic" && command.batch < devices) {
    throw Error("--batch is " + std::to_string(command.batch) +
                ", less than one sample for each of " + std::to_string(devices) + " devices");
  }
}

int record(const CollectComm& command, int devices, const CollectionDescription& costs,
           CommCostSource& source, Console& console) {
  CommDrawOptions draw = command.draw;
  draw.devices = devices;
  CollectionDescription description =
      comm_description(command.batch, command.collection.seed, draw);
  description.insert(costs.begin(), costs.end());
  prepare_collection(command.collection.output, description, {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    collect_comm_samples(source, draw, run, log);
  });
}

int run(const CollectComm& command, Console& console) {
  const RankOptions& ranks = command.ranks;
  require_rank_options(ranks);
  if (ranks.backend != "analytic") {
    const RankSamples samples{
        .batch = command.batch,
        .check = [&](int devices) { require_draws(command, devices); },
        .record =
            [&](ranks::RankSource& source, int devices, const CollectionDescription& measured) {
              return record(command, devices, measured, source, console);
            }};
    return collect_on_ranks(ranks, samples, console);
  }
  if (!ranks.devices) throw Error("--devices is missing; --backend analytic needs it");
  const NetworkSpec& network = network_named(command.network);
  const auto source = make_analytic_comm_source(network, command.batch);
  require_draws(command, *ranks.devices);
  return record(command, *ranks.devices,
                {{"source", ranks.backend}, {"hardware", std::string(network.name)}}, *source,
                console);
}

}  // namespace

void add_collect_comm(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectComm>();
  CLI::App* command = collect.add_subcommand("comm", "Cost of the all-to-all between the devices");
  command->footer(kCollectCommExamples);
  add_collection_options(*command, options->collection);
  add_rank_options(*command, options->ranks);
  add_network_option(*command, options->network);
  add_comm_draw_options(*command, options->draw, options->batch);
  const command_line::OptionGroup general(*command);
  general.add("--devices", options->ranks.devices,
              "Devices that take part; mpi, nccl: one per rank, may be left out");
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace neuroshard::tools
