#pragma once

#include <cstdint>

namespace neuroshard::gpu {

/// One table of a fused embedding-bag operator as its kernels see it; all pointers are in device
/// memory.
struct BagTable {
  float* weights = nullptr;  ///< [rows, dim]
  const std::int64_t* indices = nullptr;
  const std::int64_t* offsets = nullptr;  ///< batch + 1 entries, first 0.
  std::int64_t lookups = 0;
  std::int64_t first_lookup = 0;  ///< First lookup of the table among those of all tables.
  std::uint32_t first_key = 0;    ///< Keys are rows numbered through all tables.
  int dim = 0;
  int column = 0;      ///< In the output.
  int lanes_log2 = 0;  ///< Threads that share a bag, a tile or a chunk: a quad of columns each.
  unsigned first_pooling = 0;  ///< First block of the table in pool_bags.
};

/// Chunks of one level of update_rows: those of one table.
struct ChunkRange {
  std::int64_t chunks = 0;
  std::int64_t first_float = 0;  ///< First of their partial sums [chunks, dim].
  unsigned first_block = 0;
};

}  // namespace neuroshard::gpu
