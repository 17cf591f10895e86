// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include <exception>
#include <optional>
#include <span>

#include "neuroshard/error.h"
#include "tools/measuring/measure_inputs.h"
#include "tools/mpi/mpi_ranks.h"

namespace neuroshard::tools {
namespace {

MeasureInputs inputs_for(const MeasureCommand& command, const ranks::RankGroup& group) {
  if (group.size() == 1) {
    throw Error(
        "--exchange mpi measures between processes; start it with mpirun -np DEVICES neuroshard "
        "..., or measure with --exchange local");
  }
  if (command.tasks.task == "-") {
    throw Error("--task -: mpirun gives standard input to one rank only; give a file");
  }
  MeasureInputs inputs = load_measure_inputs(command, group.local_size());
  if (inputs.devices == 0 || inputs.devices == group.size()) return inputs;
  throw Error(command.plans.front() + ": is for " + std::to_string(inputs.devices) +
              " devices, but mpirun has started " + std::to_string(group.size()) +
              " ranks; start one for each device");
}

}  // namespace

int measure_over_mpi(const MeasureCommand& command, Console& console) {
  ranks::MpiGroup group;
  std::optional<MeasureInputs> inputs;
  std::optional<Error> failure;
  try {
    inputs = inputs_for(command, group);
  } catch (const Error& error) {
    failure = error;
  }
  // One speaks, and gives the exit code: rank 0 if it has failed. mpirun kills all the others as
  // soon as one ends with another code than 0.
  if (group.any(failure.has_value())) {
    bool first_failed = failure.has_value();
    group.broadcast(std::as_writable_bytes(std::span(&first_failed, 1)));
    if (group.rank() == 0 && failure) throw Error(*failure);
    if (failure && !first_failed) abort_all(group, console, failure->what());
    if (!first_failed) (void)group.any(false);  // Until that rank ends all.
    return kExitOk;
  }
  try {
    return measure_on_ranks(command, *inputs, group, console);
  } catch (const std::exception& error) {
    abort_all(group, console, error.what());
  }
}

}  // namespace neuroshard::tools
