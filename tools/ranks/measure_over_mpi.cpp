// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include <exception>
#include <optional>
#include <span>

#include "neuroshard/error.h"
#include "tools/measuring/measure_inputs.h"
#include "tools/ranks/mpi_ranks.h"
#include "tools/ranks/same_inputs.h"

namespace neuroshard::tools {
namespace {

MeasureInputs inputs_for(const MeasureCommand& command, const ranks::RankGroup& group) {
  if (command.tasks.task == "-") {
    throw Error("--task -: one process alone gets the standard input; give a file");
  }
  MeasureInputs inputs = load_measure_inputs(command, group.local_size());
  if (inputs.devices == 0 || inputs.devices == group.size()) return inputs;
  throw Error(command.plans.front() + ": is for " + std::to_string(inputs.devices) +
              " devices, but " + std::to_string(group.size()) +
              " ranks were started; start one for each device");
}

}  // namespace

// Each rank reads its own inputs, which must be the same. If rank 0 cannot use its own, it alone
// speaks.
int measure_over_mpi(const MeasureCommand& command, Console& console) {
  ranks::MpiGroup group = start_mpi(command.rank_timeout_s, console);
  if (group.size() == 1) {
    throw Error(
        "--exchange mpi measures between processes; start it with mpirun -np DEVICES neuroshard "
        "..., or measure with --exchange local");
  }
  std::optional<MeasureInputs> inputs;
  std::optional<Error> failure;
  InputHashes hashes{};
  try {
    inputs = inputs_for(command, group);
    hashes = input_hashes(command, *inputs);
  } catch (const Error& error) {
    failure = error;
  }
  bool any_failed = group.any(failure.has_value());
  if (any_failed) {
    // One speaks: rank 0 if it has failed. mpirun kills all others as soon as one ends with another
    // code than 0.
    bool first_failed = failure.has_value();
    group.broadcast(std::as_writable_bytes(std::span(&first_failed, 1)));
    if (first_failed) {
      if (group.rank() == 0) throw Error(*failure);
      return kExitOk;
    }
  } else {
    try {
      require_same_inputs(group, hashes);
    } catch (const Error& error) {
      failure = error;
    }
    any_failed = group.any(failure.has_value());
  }
  try {
    if (failure) throw Error(*failure);
    if (any_failed) (void)group.any(false);  // Until that rank ends all.
    return any_failed ? kExitOk : measure_on_ranks(command, *inputs, group, console);
  } catch (const std::exception& error) {
    abort_all(group, console, error.what());
  }
}

}  // namespace neuroshard::tools
