// Part of the program neuroshard-mpi, in place of mpi_elsewhere.cpp.
#include "neuroshard/error.h"
#include "tools/measuring/measure_command.h"
#include "tools/ranks/mpi_ranks.h"

namespace neuroshard::tools {

int measure_over_mpi(const MeasureCommand& command, Console& console) {
  ranks::MpiGroup group;
  if (group.size() == 1) {
    throw Error(
        "--exchange mpi measures between processes; start it with mpirun -np DEVICES neuroshard "
        "..., or measure with --exchange local");
  }
  return measure_between_processes(command, group, console,
                                   [&](const char* what) { abort_all(group, console, what); });
}

}  // namespace neuroshard::tools
