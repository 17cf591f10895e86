#include "tools/collecting/collect_comm.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "tools/collecting/collect_on_ranks.h"
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

constexpr const char* kBackendsOfMpi = "--backend mpi and nccl";

// --rank-timeout-s is of ranks of MPI (`over_mpi`).
void require_rank_timeout(const std::optional<int>& seconds, bool over_mpi) {
  if (!seconds) return;
  if (!over_mpi) {
    throw Error(std::string("--rank-timeout-s is for ") + kBackendsOfMpi + "; leave it out");
  }
  if (*seconds < 0) {
    throw Error("--rank-timeout-s is " + std::to_string(*seconds) +
                "; give seconds, or 0 to wait for ever");
  }
}

int run(const CollectComm& given, Console& console) {
  const std::string& backend = given.backend;
  const bool over_mpi = backend == "mpi" || backend == "nccl";
  require_rank_timeout(given.rank_timeout_s, over_mpi);
  if (over_mpi) return collect_over_ranks(given, console);
  if (backend != "analytic" && backend != "local") {
    throw Error("--backend '" + backend + "' is not known; give analytic, local, mpi or nccl");
  }
  if (!given.devices) throw Error("--devices is missing; --backend " + backend + " needs it");
  if (backend == "local") return collect_locally(given, console);
  CollectComm command = given;
  command.draw.devices = *given.devices;
  const NetworkSpec& network = network_named(command.network);
  const auto source = make_analytic_comm_source(network, command.batch);
  require_comm_options(command);
  prepare_collection(command.collection.output,
                     comm_description(command.backend, std::string(network.name), command.batch,
                                      command.collection.seed, command.draw),
                     {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    collect_comm_samples(*source, command.draw, run, log);
  });
}

}  // namespace

void require_comm_options(const CollectComm& command) {
  if (command.batch < 1) {
    throw Error("--batch is " + std::to_string(command.batch) + "; give at least 1");
  }
  require_runs(command.protocol);
  Random random(command.collection.seed);
  (void)draw_comm(command.draw, random);
  if (command.backend != "analytic" && command.batch < command.draw.devices) {
    throw Error("--batch is " + std::to_string(command.batch) +
                ", less than one sample for each of " + std::to_string(command.draw.devices) +
                " devices");
  }
}

void add_collect_comm(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectComm>();
  CLI::App* command = collect.add_subcommand("comm", "Cost of the all-to-all between the devices");
  command->footer(kCollectCommExamples);
  add_collection_options(*command, options->collection);
  command->add_option("--backend", options->backend, "local, mpi, nccl or analytic")->required();
  add_network_option(*command, options->network);
  add_comm_draw_options(*command, options->draw, options->batch);
  command->add_option("--devices", options->devices,
                      "Devices that take part; mpi, nccl: one per rank, may be left out");
  const char* measured = "Measured backends";
  command
      ->add_option("--rank-timeout-s", options->rank_timeout_s,
                   std::string(kBackendsOfMpi) +
                       ": time after which a rank that the others wait for ends the run (default " +
                       std::to_string(kDefaultRankTimeoutSeconds) + "; 0: they wait for ever)")
      ->type_name("SECONDS")
      ->group(measured);
  command->add_option("--warm-up", options->protocol.warm_up, "Runs before the timed ones")
      ->capture_default_str()
      ->group(measured);
  command
      ->add_option("--iterations", options->protocol.iterations,
                   "Timed runs, of which the median counts")
      ->capture_default_str()
      ->group(measured);
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

}  // namespace neuroshard::tools
