#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/collecting/access_files.h"
#include "tools/commands.h"
#include "tools/options/model_options.h"
#include "tools/options/task_options.h"
#include "weights/collection/ranks/rank_group.h"
#include "weights/measurement/measure_plans.h"

namespace neuroshard::tools {

/// Options of `measure`.
struct MeasureCommand {
  TaskOptions tasks;
  ModelOptions models;
  std::vector<std::string> plans;
  std::string exchange = "local";
  std::optional<int> rank_timeout_s;  ///< Of ranks of MPI.
  std::string backend = "cpu";
  AccessFiles accesses;  ///< Its `batch`: of the measurement, too.
  std::uint64_t seed = 0;
  ranks::PlanMeasurement measurement;
  bool keep_caches = false;
  std::string json;
  std::string svg;
};

struct MeasureInputs;

/// What every rank does: measures all plans with the others; rank 0 writes the results. Returns an
/// exit code, at rank 0 that of the command.
[[nodiscard]] int measure_on_ranks(const MeasureCommand& command, const MeasureInputs& inputs,
                                   ranks::RankGroup& group, Console& console);

/// `measure --exchange mpi`. There are two of it, as of collect_over_ranks
/// (tools/collecting/collect_comm.h): tools/ranks/measure_over_mpi.cpp and mpi_elsewhere.cpp.
/// Returns an exit code; throws Error.
[[nodiscard]] int measure_over_mpi(const MeasureCommand& command, Console& console);

}  // namespace neuroshard::tools
