#include <memory>

#include "neuroshard/error.h"
#include "tools/collect_command.h"
#include "tools/comm_draw_options.h"
#include "weights/collection/collection_folder.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kExamples = R"(Example: 20,000 samples for 16 devices of 8 a node
  neuroshard collect comm --backend analytic --network h100-nvlink4-ndr --devices 16 \
      --samples 20000 --output data/comm_16

Protocol and what is measured: docs/collecting.md. The models: docs/analytic_costs.md.)";

struct CollectComm {
  CollectionOptions collection;
  CommDrawOptions draw;
  std::string backend;
  std::string network = std::string(kDefaultNetwork);
  std::int64_t batch = kDefaultBatch;
};

int run(const CollectComm& command, Console& console) {
  if (command.backend != "analytic") {
    throw Error("--backend '" + command.backend + "' is not known; give analytic");
  }
  if (command.batch < 1) {
    throw Error("--batch is " + std::to_string(command.batch) + "; give at least 1");
  }
  const NetworkSpec& network = network_named(command.network);
  const auto source = make_analytic_comm_source(network, command.batch);
  Random random(command.collection.seed);
  (void)draw_comm(command.draw, random);  // Bad options fail before there is a folder.
  prepare_collection(command.collection.output,
                     comm_description(command.backend, std::string(network.name), command.batch,
                                      command.collection.seed, command.draw),
                     {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    collect_comm_samples(*source, command.draw, run, log);
  });
}

}  // namespace

void add_collect_comm(CLI::App& collect, Action& chosen) {
  const auto options = std::make_shared<CollectComm>();
  CLI::App* command =
      collect.add_subcommand("comm", "Cost of the all-to-all between a number of devices");
  command->footer(kExamples);
  add_collection_options(*command, options->collection);
  command->add_option("--backend", options->backend, "analytic")->required();
  command->add_option("--network", options->network, "Datasheet of the analytic backend")
      ->type_name("NAME")
      ->capture_default_str();
  add_comm_draw_options(*command, options->draw, options->batch);
  command->add_option("--devices", options->draw.devices, "Devices that take part")->required();
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run(*options, console); };
  });
}

}  // namespace neuroshard::tools
