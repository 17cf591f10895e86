#include "tools/collecting/collect_on_ranks.h"

#include <exception>
#include <string>

#include "neuroshard/error.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"
#include "weights/collection/ranks/local_group.h"

namespace neuroshard::tools {
namespace {

int record_samples(const CollectComm& command, ranks::RankSource& source,
                   const ranks::RankMeasurement& measurement, const std::string& hardware,
                   Console& console) {
  CollectionDescription description = comm_description(command.backend, hardware, command.batch,
                                                       command.collection.seed, command.draw);
  description["nodes"] = std::to_string(measurement.group.nodes());
  description["warm_up"] = std::to_string(command.protocol.warm_up);
  description["iterations"] = std::to_string(command.protocol.iterations);
  prepare_collection(command.collection.output, description, {});
  return run_collection(command.collection, console, [&](const CollectionRun& run, SampleLog& log) {
    collect_comm_samples(source, command.draw, run, log);
  });
}

}  // namespace

int collect_on_ranks(const CollectComm& command, const ranks::RankMeasurement& measurement,
                     const std::string& hardware, Console& console,
                     const std::function<void(const char*)>& give_up) {
  if (measurement.group.rank() != 0) {
    try {
      ranks::serve_samples(measurement);
    } catch (const std::exception& error) {
      if (give_up) give_up(error.what());
      throw;
    }
    return kExitOk;
  }
  ranks::RankSource source(measurement);
  try {
    return record_samples(command, source, measurement, hardware, console);
  } catch (const std::exception& error) {
    if (source.broken() && give_up) give_up(error.what());
    throw;
  }
}

int collect_locally(const CollectComm& command, Console& console) {
  CollectComm complete = command;
  complete.draw.devices = *command.devices;
  require_comm_options(complete);
  int code = kExitOk;
  ranks::run_local_ranks(*command.devices, [&](ranks::RankGroup& group) {
    const auto exchange = ranks::make_host_exchange(group);
    const ranks::RankMeasurement measurement{group, *exchange, complete.protocol, complete.batch};
    const int of_rank = collect_on_ranks(complete, measurement, cpu_name(), console);
    if (group.rank() == 0) code = of_rank;
  });
  return code;
}

}  // namespace neuroshard::tools
