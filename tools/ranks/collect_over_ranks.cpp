// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include <optional>

#include "neuroshard/error.h"
#include "tools/collecting/collect_on_ranks.h"
#include "tools/console/interrupt.h"
#include "tools/ranks/mpi_ranks.h"

namespace neuroshard::tools {

int collect_over_ranks(const CollectComm& command, Console& console) {
  ranks::MpiGroup group;
  CollectComm complete = command;
  MeasuredExchange made;
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
    made = make_exchange(complete, group);
  } catch (const Error&) {
    // All ranks are here: one speaks, and gives the exit code. mpirun kills all the others as soon
    // as one ends with another code than 0.
    if (group.rank() == 0) throw;
    return kExitOk;
  }
  const ranks::RankMeasurement measurement{group, *made.exchange, complete.protocol,
                                           complete.batch};
  // Rank 0 ends the run in good order, or mpirun does by force.
  std::optional<InterruptGuard> guard;
  if (group.rank() != 0) guard.emplace();
  return collect_on_ranks(complete, measurement, made.hardware, console,
                          [&](const char* what) { abort_all(group, console, what); });
}

}  // namespace neuroshard::tools
