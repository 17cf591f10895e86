#include "tools/collecting/collect_on_ranks.h"

#include <array>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include "neuroshard/error.h"
#include "tools/console/interrupt.h"
#include "tools/ranks/tcp_ranks.h"
#include "weights/collection/collection_folder.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"
#include "weights/collection/ranks/local_group.h"
#include "weights/collection/ranks/tcp_group.h"
#ifdef NEUROSHARD_HAS_NCCL
#include "cuda/nccl_exchange.h"
#endif

namespace neuroshard::tools {
namespace {

using ranks::RankGroup;

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

MeasuredExchange make_exchange(const CollectComm& command, const RankGroup& group) {
  if (command.backend != "nccl") return {ranks::make_host_exchange(group), cpu_name()};
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
      "--backend nccl: this build has no NCCL; it needs CUDA and NCCL when it is configured, or "
      "collect with --backend tcp, mpi, local or analytic",
      ErrorKind::kBackend);
#endif
}

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
  ranks::run_local_ranks(*command.devices, [&](RankGroup& group) {
    const MeasuredExchange made = make_exchange(complete, group);
    const ranks::RankMeasurement measurement{group, *made.exchange, complete.protocol,
                                             complete.batch};
    const int of_rank = collect_on_ranks(complete, measurement, made.hardware, console);
    if (group.rank() == 0) code = of_rank;
  });
  return code;
}

int collect_over_tcp(const CollectComm& command, Console& console) {
  const ranks::LaunchedRank self = ranks::launched_rank();
  CollectComm complete = command;
  try {
    // Processes that do not know of each other would each measure alone, and all into one folder.
    if (self.size == 1 && command.devices != 1) {
      throw only_rank_error("give --devices 1 if there shall be no other");
    }
    if (command.devices && *command.devices != self.size) {
      throw Error("--devices is " + std::to_string(*command.devices) + ", but " +
                  std::to_string(self.size) +
                  " ranks were started; leave --devices out or make them equal");
    }
    complete.draw.devices = self.size;
    require_comm_options(complete);
  } catch (const Error&) {
    // One speaks, and gives the exit code: all have the same options.
    if (self.rank == 0) throw;
    return kExitOk;
  }
  ranks::TcpGroup group(self, command.rendezvous);
  // Rank 0 ends the run in good order. Until they have met each rank ends by itself, lest one that
  // waits on comes to the next run.
  std::optional<InterruptGuard> guard;
  if (self.rank != 0) guard.emplace();
  const MeasuredExchange made = make_exchange(complete, group);
  const ranks::RankMeasurement measurement{group, *made.exchange, complete.protocol,
                                           complete.batch};
  return collect_on_ranks(complete, measurement, made.hardware, console);
}

}  // namespace neuroshard::tools
