#pragma once

#include <span>
#include <vector>

#include "cuda/device/buffers.h"
#include "cuda/operators/bag_tables.h"
#include "cuda/operators/sort_lookups.h"
#include "cuda/operators/update_rows.h"
#include "weights/collection/embedding_operator.h"

namespace neuroshard::gpu {

/// The fused embedding-bag operator on the current device: all tables of a shard in one launch
/// forward; backward a launch for the keys, a radix sort, and a launch per level of update_rows.
/// Results are the same run after run. One call at a time.
class CudaOperator {
 public:
  /// Work goes to `stream`, which is borrowed.
  explicit CudaOperator(const Stream& stream) : stream_(stream) {}

  /// Sets the shard that the calls below work on. All its pointers are to device memory, aligned to
  /// 16 bytes; `lookups` are those of each table. Waits for the work before. Throws Error
  /// (kBackend) if it has 2^32 rows or more, or memory lacks.
  void set_shard(const OperatorShard& shard, std::span<const std::int64_t> lookups);

  /// Device memory that set_shard takes for such a shard, in all.
  [[nodiscard]] static std::size_t bytes_for(const OperatorShard& shard,
                                             std::span<const std::int64_t> lookups);

  /// output [batch, dim_sum].
  void forward(float* output) const;

  /// Exact SGD: the gradients of all lookups of a row are summed, then the row changes once.
  /// gradient [batch, dim_sum].
  void backward(const float* gradient, float learning_rate) const;

 private:
  // Chunks of lookups of update_rows, or chunks of chunks.
  struct Level {
    std::vector<ChunkRange> ranges;  // [tables]
    std::int64_t child_width = 1;
    std::int64_t floats = 0;  // Size of one of the two partial sums.
    unsigned blocks = 0;
  };
  struct Layout;

  [[nodiscard]] PartialSums sums_of(std::size_t level) const;

  const Stream& stream_;
  PinnedBuffer host_views_;
  DeviceBuffer views_;
  DeviceBuffer pairs_;
  DeviceBuffer scratch_;
  DeviceBuffer partial_;

  int tables_ = 0;
  std::int64_t batch_ = 0;
  std::int64_t stride_ = 0;
  std::int64_t lookups_ = 0;
  int key_bits_ = 0;
  unsigned pooling_blocks_ = 0;
  std::vector<Level> levels_;
  LookupBuffers buffers_;
};

}  // namespace neuroshard::gpu
