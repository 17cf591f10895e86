#pragma once

#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Milliseconds of lookups of each table, by RecShard (Sethi et al., ASPLOS 2022, arXiv
/// 2201.10095): bytes of rows over the rate of the memory that they are in. Which rows are in HBM
/// is the solution of its integer programme without the integers, with one threshold over all
/// devices: rows by lookups for their bytes, until all HBM is full.
[[nodiscard]] std::vector<double> recshard_costs_ms(const Task& task);

}  // namespace neuroshard
