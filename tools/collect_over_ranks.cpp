// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include <array>
#include <exception>
#include <span>
#include <string>

#include "neuroshard/error.h"
#include "tools/collect_comm.h"
#include "tools/interrupt.h"
#include "tools/mpi_ranks.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"
#include "weights/collection/ranks/rank_source.h"
#ifdef NEUROSHARD_HAS_NCCL
#include "cuda/nccl_exchange.h"
#endif

namespace neuroshard::tools {
namespace {

using ranks::MpiGroup;
using ranks::RankGroup;

struct MadeExchange {
  std::unique_ptr<ranks::Exchange> exchange;
  std::string hardware;
};

MadeExchange make_exchange(const std::string& backend, const RankGroup& group) {
  if (backend == "mpi") return {ranks::make_host_exchange(group), cpu_name()};
#ifdef NEUROSHARD_HAS_NCCL
  std::string gpu;
  std::string failure;
  try {
    gpu = ranks::gpu_of_rank(group);
  } catch (const Error& error) {
    failure = error.what();
  }
  // All ranks must know before the first of them waits for the others in NCCL.
  if (group.any(!failure.empty())) {
    throw Error(failure.empty() ? "another rank has no GPU to use" : failure, ErrorKind::kBackend);
  }
  std::array<char, 256> first{};
  gpu.copy(first.data(), first.size() - 1);
  group.broadcast(std::as_writable_bytes(std::span(first)));
  if (group.any(gpu != first.data())) {
    throw Error("the ranks have GPUs of different names; measure between GPUs of one kind",
                ErrorKind::kBackend);
  }
  return {ranks::make_nccl_exchange(group), gpu};
#else
  throw Error(
      "--backend nccl: this build has no NCCL; it needs CUDA, NCCL and MPI when it is configured, "
      "or collect with --backend mpi or analytic",
      ErrorKind::kBackend);
#endif
}

int collect(const CollectComm& command, const ranks::RankMeasurement& measurement,
            const std::string& hardware, Console& console) {
  ranks::RankSource source(measurement);
  try {
    CollectionDescription description = comm_description(command.backend, hardware, command.batch,
                                                         command.collection.seed, command.draw);
    description["nodes"] = std::to_string(measurement.group.nodes());
    description["warm_up"] = std::to_string(command.protocol.warm_up);
    description["iterations"] = std::to_string(command.protocol.iterations);
    prepare_collection(command.collection.output, description, {});
    return run_collection(command.collection, console,
                          [&](const CollectionRun& run, SampleLog& log) {
                            collect_comm_samples(source, command.draw, run, log);
                          });
  } catch (const std::exception& error) {
    if (source.broken()) abort_all(measurement.group, console, error.what());
    throw;
  }
}

}  // namespace

int collect_over_ranks(const CollectComm& command, Console& console) {
  MpiGroup group;
  CollectComm complete = command;
  MadeExchange made;
  try {
    if (group.size() == 1 && command.devices != 1) {
      throw Error("--backend " + command.backend +
                  " measures between processes; start it with mpirun -np DEVICES neuroshard ...");
    }
    if (command.devices && *command.devices != group.size()) {
      throw Error("--devices is " + std::to_string(*command.devices) + ", but mpirun has started " +
                  std::to_string(group.size()) + " ranks; leave --devices out or make them equal");
    }
    complete.draw.devices = group.size();
    require_comm_options(complete);
    made = make_exchange(command.backend, group);
  } catch (const Error&) {
    // All ranks are here: one speaks, and gives the exit code. mpirun kills all the others as soon
    // as one ends with another code than 0.
    if (group.rank() == 0) throw;
    return kExitOk;
  }
  const ranks::RankMeasurement measurement{group, *made.exchange, complete.protocol,
                                           complete.batch};
  if (group.rank() == 0) return collect(complete, measurement, made.hardware, console);
  // Rank 0 ends the run in good order, or mpirun does by force.
  const InterruptGuard guard;
  try {
    ranks::serve_samples(measurement);
  } catch (const std::exception& error) {
    abort_all(group, console, error.what());
  }
  return kExitOk;
}

}  // namespace neuroshard::tools
