#pragma once

#include <cstdint>
#include <ostream>
#include <span>

#include "cuda/operators/cuda_source.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard::tools {

/// One line: what the fused operator reached over the samples of a run, beside the device's copy
/// bandwidth.
void print_bandwidth(std::ostream& out, const OperatorTraffic& traffic, double copy_gb_per_s);

/// Measures, for each dim, one shard of `draw.max_tables` tables of that dim (fewer if they do not
/// fit in memory) and prints what the operator reached. `tables`: augment_dims of `base_tables`
/// tables.
void report_bandwidth(std::ostream& out, CudaSource& source, std::span<const Table> tables,
                      std::size_t base_tables, const ComputeDrawOptions& draw, std::uint64_t seed);

}  // namespace neuroshard::tools
