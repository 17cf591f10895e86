#include "weights/collection/cpu_operator.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace neuroshard {
namespace {

constexpr std::int64_t kSamplesPerTask = 2048;
constexpr std::int64_t kLookupsPerBucket = 4096;  // 32 KB of lookups: sorted within the L1 or L2.
constexpr int kDigitBits = 8;

std::int64_t slices_of(std::int64_t batch) {
  return (batch + kSamplesPerTask - 1) / kSamplesPerTask;
}

// Stable, by row, `bits` bits above the lowest `shift`; `other` is scratch. Ends in `lookups`.
void sort_by_row(Lookup* lookups, Lookup* other, std::int64_t count, int shift, int bits) {
  constexpr std::int64_t kFew = 32;
  if (count <= kFew) {  // Insertion.
    for (std::int64_t i = 1; i < count; ++i) {
      const Lookup moved = lookups[i];
      std::int64_t place = i;
      for (; place > 0 && lookups[place - 1].row > moved.row; --place) {
        lookups[place] = lookups[place - 1];
      }
      lookups[place] = moved;
    }
    return;
  }
  Lookup* from = lookups;
  Lookup* to = other;
  for (int done = 0; done < bits; done += kDigitBits) {
    const int digit_shift = shift + done;
    std::array<std::int64_t, 1 << kDigitBits> next{};
    const auto digit = [digit_shift](const Lookup& lookup) {
      return lookup.row >> digit_shift & ((1U << kDigitBits) - 1U);
    };
    for (std::int64_t i = 0; i < count; ++i) ++next[digit(from[i])];
    std::int64_t sum = 0;
    for (std::int64_t& begin : next) sum += std::exchange(begin, sum);
    for (std::int64_t i = 0; i < count; ++i) to[next[digit(from[i])]++] = from[i];
    std::swap(from, to);
  }
  if (from != lookups) std::copy(from, from + count, lookups);
}

}  // namespace

void CpuOperator::forward(const OperatorShard& shard, float* output) {
  const std::int64_t stride = shard.dim_sum();
  const auto slices = static_cast<std::size_t>(slices_of(shard.batch));
  std::vector<std::int64_t> column;
  std::int64_t sum = 0;
  for (const OperatorTable& table : shard.tables) {
    column.push_back(sum);
    sum += table.dim;
  }

  team_.run(shard.tables.size() * slices, [&](std::size_t task, std::size_t) {
    const OperatorTable& table = shard.tables[task / slices];
    const std::int64_t first = static_cast<std::int64_t>(task % slices) * kSamplesPerTask;
    const std::int64_t last = std::min(first + kSamplesPerTask, shard.batch);
    float* out = output + first * stride + column[task / slices];
    for (std::int64_t s = first; s < last; ++s, out += stride) {
      kernels_.sum_rows(table.weights, table.indices + table.offsets[s],
                        table.offsets[s + 1] - table.offsets[s], table.dim, out);
    }
  });
}

void CpuOperator::backward(const OperatorShard& shard, const float* gradient, float learning_rate) {
  lay_out(shard);
  team_.run(slices_.size(),
            [&](std::size_t task, std::size_t) { count_slice(shard, slices_[task]); });
  place_slices(shard);
  team_.run(slices_.size(),
            [&](std::size_t task, std::size_t) { deal_slice(shard, slices_[task]); });
  const std::int64_t stride = shard.dim_sum();
  team_.run(buckets_.size(), [&](std::size_t task, std::size_t) {
    const auto [table, bucket] = buckets_[task];
    update_bucket(shard, table, bucket, gradient, stride, learning_rate);
  });
}

void CpuOperator::lay_out(const OperatorShard& shard) {
  work_.resize(shard.tables.size());
  slices_.clear();
  buckets_.clear();
  std::int64_t lookups = 0;
  std::int64_t column = 0;
  for (std::size_t t = 0; t < shard.tables.size(); ++t) {
    const std::int64_t count = shard.tables[t].offsets[shard.batch];
    TableWork& work = work_[t];
    const auto wanted = static_cast<std::uint64_t>(count / kLookupsPerBucket);
    work.bucket_bits = std::bit_width(std::min<std::uint64_t>(wanted, kMaxBuckets - 1));
    work.first_lookup = lookups;
    work.column = column;
    work.first_slice = slices_.size();
    lookups += count;
    column += shard.tables[t].dim;
    for (std::int64_t s = 0; s < shard.batch; s += kSamplesPerTask) {
      slices_.push_back({t, s, std::min(s + kSamplesPerTask, shard.batch), {}});
    }
    for (int bucket = 0; bucket < 1 << work.bucket_bits; ++bucket) buckets_.emplace_back(t, bucket);
  }
  if (static_cast<std::int64_t>(lookups_.size()) < lookups) {
    lookups_.resize(static_cast<std::size_t>(lookups));
    sorted_.resize(static_cast<std::size_t>(lookups));
  }
}

void CpuOperator::count_slice(const OperatorShard& shard, Slice& slice) const {
  const OperatorTable& table = shard.tables[slice.table];
  const std::int64_t mask = (std::int64_t{1} << work_[slice.table].bucket_bits) - 1;
  slice.next.fill(0);
  for (std::int64_t i = table.offsets[slice.first_sample]; i < table.offsets[slice.last_sample];
       ++i) {
    ++slice.next[table.indices[i] & mask];
  }
}

void CpuOperator::place_slices(const OperatorShard& shard) {
  for (std::size_t t = 0; t < shard.tables.size(); ++t) {
    TableWork& work = work_[t];
    const std::size_t last = t + 1 < work_.size() ? work_[t + 1].first_slice : slices_.size();
    std::int64_t sum = work.first_lookup;
    work.bucket_begin.clear();
    for (int bucket = 0; bucket < 1 << work.bucket_bits; ++bucket) {
      work.bucket_begin.push_back(sum);
      for (std::size_t s = work.first_slice; s < last; ++s) {
        sum += std::exchange(slices_[s].next[bucket], sum);
      }
    }
    work.bucket_begin.push_back(sum);
  }
}

void CpuOperator::deal_slice(const OperatorShard& shard, Slice& slice) {
  const OperatorTable& table = shard.tables[slice.table];
  const std::int64_t mask = (std::int64_t{1} << work_[slice.table].bucket_bits) - 1;
  for (std::int64_t s = slice.first_sample; s < slice.last_sample; ++s) {
    for (std::int64_t i = table.offsets[s]; i < table.offsets[s + 1]; ++i) {
      const std::int64_t row = table.indices[i];
      lookups_[slice.next[row & mask]++] = {static_cast<std::uint32_t>(row),
                                            static_cast<std::uint32_t>(s)};
    }
  }
}

void CpuOperator::update_bucket(const OperatorShard& shard, std::size_t table_id, int bucket,
                                const float* gradient, std::int64_t stride, float learning_rate) {
  const OperatorTable& table = shard.tables[table_id];
  const TableWork& work = work_[table_id];
  const std::int64_t begin = work.bucket_begin[bucket];
  const std::int64_t end = work.bucket_begin[bucket + 1];
  const int row_bits = std::bit_width(static_cast<std::uint64_t>(table.rows - 1));
  sort_by_row(lookups_.data() + begin, sorted_.data() + begin, end - begin, work.bucket_bits,
              std::max(0, row_bits - work.bucket_bits));
  for (std::int64_t first = begin; first < end;) {
    const std::uint32_t row = lookups_[first].row;
    std::int64_t last = first + 1;
    while (last < end && lookups_[last].row == row) ++last;
    kernels_.update_row(gradient + work.column, stride, &lookups_[first], last - first, table.dim,
                        learning_rate, table.weights + std::int64_t{row} * table.dim);
    first = last;
  }
}

}  // namespace neuroshard
