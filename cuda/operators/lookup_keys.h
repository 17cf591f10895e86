#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/operators/bag_tables.h"

namespace neuroshard::gpu {

struct KeyArgs {
  const BagTable* tables = nullptr;  ///< In device memory.
  int count = 0;
  std::int64_t batch = 0;
  std::uint32_t* keys = nullptr;     ///< [lookups of all tables]: row + first_key of the table.
  std::uint32_t* samples = nullptr;  ///< [lookups of all tables]
};

/// Writes the input of update_rows: key and sample of every lookup, in the order of tables and
/// lookups.
void write_lookup_keys(const KeyArgs& args, cudaStream_t stream);

}  // namespace neuroshard::gpu
