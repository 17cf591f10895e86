#pragma once

#include <memory>
#include <span>
#include <string>

#include "weights/collection/cost_sources.h"
#include "weights/collection/measurement.h"
#include "weights/lookups/stream_store.h"

namespace neuroshard {

struct CpuSourceOptions {
  MeasurementProtocol protocol;
  std::int64_t memory_bytes = std::int64_t{4} << 30;  ///< Limit for the weights of a shard.
  int threads = 0;                                    ///< 0: one per core.
};

/// Runs the fused operator (CpuOperator) on this machine's cores: forward, backward and SGD over a
/// batch of `streams`, caches flushed before each run. `tables` are augment_dims of the tables of
/// `streams`; both are borrowed. Throws Error if a table has 2^32 rows or more, or memory lacks.
[[nodiscard]] std::unique_ptr<ComputeCostSource> make_cpu_source(std::span<const Table> tables,
                                                                 StreamStore& streams,
                                                                 std::size_t base_tables,
                                                                 const CpuSourceOptions& options);

/// Model name of this machine's processor, for descriptions.
[[nodiscard]] std::string cpu_name();

}  // namespace neuroshard
