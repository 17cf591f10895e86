// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "neuroshard/error.h"
#include "tools/collecting/collect_on_ranks.h"
#include "tools/console/interrupt.h"
#include "tools/ranks/mpi_ranks.h"
#include "weights/collection/cpu_source.h"
#include "weights/collection/ranks/host_exchange.h"
#ifdef NEUROSHARD_HAS_NCCL
#include "cuda/operators/nccl_exchange.h"
#endif

namespace neuroshard::tools {
namespace {

// Exchange that ranks measure, and the hardware that it belongs to.
struct MeasuredExchange {
  std::unique_ptr<ranks::Exchange> exchange;
  std::string hardware;
};

// Made by all ranks at once: between GPUs by NCCL if `backend` is "nccl", else in host
// memory. Throws Error (kBackend) on all ranks if one of them has no GPU to use.
MeasuredExchange make_exchange(const std::string& backend, const ranks::MpiGroup& group) {
  if (backend != "nccl") return {ranks::make_host_exchange(group), cpu_name()};
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
      "collect with --backend mpi, local or analytic",
      ErrorKind::kBackend);
#endif
}

}  // namespace

int collect_over_ranks(const RankOptions& options, const RankSamples& samples, Console& console) {
  ranks::MpiGroup group = start_mpi(options.rank_timeout_s, console);
  MeasuredExchange made;
  try {
    if (group.size() == 1 && options.devices != 1) {
      throw Error("--backend " + options.backend +
                  " measures between processes; start it with mpirun -np DEVICES neuroshard ...");
    }
    if (options.devices && *options.devices != group.size()) {
      throw Error("--devices is " + std::to_string(*options.devices) + ", but mpirun has started " +
                  std::to_string(group.size()) + " ranks; leave --devices out or make them equal");
    }
    samples.check(group.size());
    made = make_exchange(options.backend, group);
  } catch (const Error&) {
    // All ranks are here: one speaks, and gives the exit code. mpirun kills all the others as soon
    // as one ends with another code than 0.
    if (group.rank() == 0) throw;
    return kExitOk;
  }
  const ranks::RankMeasurement measurement{group, *made.exchange, options.protocol, samples.batch};
  // Rank 0 ends the run in good order, or mpirun does by force.
  std::optional<InterruptGuard> guard;
  if (group.rank() != 0) guard.emplace();
  return collect_as_rank(options, samples, measurement, made.hardware,
                         [&](const char* what) { abort_all(group, console, what); });
}

}  // namespace neuroshard::tools
