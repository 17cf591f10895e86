#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/base/thread_team.h"
#include "weights/collection/embedding_operator.h"
#include "weights/collection/pooling_kernels.h"

namespace neuroshard {

/// The fused embedding-bag operator on a CPU: all tables of a shard share the threads. Results do
/// not depend on the number of threads. One call at a time.
class CpuOperator {
 public:
  /// Both are borrowed.
  CpuOperator(ThreadTeam& team, const PoolingKernels& kernels) : team_(team), kernels_(kernels) {}

  /// output [batch, dim_sum].
  void forward(const OperatorShard& shard, float* output);

  /// Exact SGD: the gradients of all lookups of a row are summed, in the order of the lookups, then
  /// the row changes once. gradient [batch, dim_sum].
  void backward(const OperatorShard& shard, const float* gradient, float learning_rate);

 private:
  static constexpr int kMaxBuckets = 256;

  // Lookups of a table are dealt into buckets by the low bits of their row, so that a bucket has
  // all lookups of a row, and its work fits in a cache.
  struct TableWork {
    int bucket_bits = 0;
    std::int64_t first_lookup = 0;  // Index into lookups_.
    std::int64_t column = 0;        // Column of the gradient.
    std::size_t first_slice = 0;    // Index into slices_.
    std::vector<std::int64_t> bucket_begin;
  };
  // Samples of a table that one task deals. `next` is first the count, then the place of the next
  // lookup of each bucket.
  struct Slice {
    std::size_t table = 0;
    std::int64_t first_sample = 0;
    std::int64_t last_sample = 0;
    std::array<std::int64_t, kMaxBuckets> next;
  };

  void lay_out(const OperatorShard& shard);
  void count_slice(const OperatorShard& shard, Slice& slice) const;
  void place_slices(const OperatorShard& shard);
  void deal_slice(const OperatorShard& shard, Slice& slice);
  void update_bucket(const OperatorShard& shard, std::size_t table, int bucket,
                     const float* gradient, std::int64_t stride, float learning_rate);

  ThreadTeam& team_;
  const PoolingKernels& kernels_;
  std::vector<TableWork> work_;
  std::vector<Slice> slices_;
  std::vector<std::pair<std::size_t, int>> buckets_;  // (table, bucket) of all tables.
  std::vector<Lookup> lookups_;
  std::vector<Lookup> sorted_;
};

}  // namespace neuroshard
