#include "cuda/operators/cuda_operator.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cuda/operators/lookup_keys.h"
#include "cuda/operators/pool_bags.h"
#include "neuroshard/error.h"

namespace neuroshard::gpu {
namespace {

std::int64_t blocks_for(std::int64_t items, int of_block) {
  return (items + of_block - 1) / of_block;
}

int lanes_log2(int dim) {
  return std::min(static_cast<int>(std::bit_width(static_cast<unsigned>(dim) / 4 - 1)), 5);
}

unsigned checked_blocks(std::int64_t blocks) {
  if (blocks <= 0x7FFFFFFF) return static_cast<unsigned>(blocks);
  throw Error("cuda operator: the batch needs more blocks than a launch has; give a smaller batch",
              ErrorKind::kBackend);
}

}  // namespace

// Everything that depends on the shapes alone.
struct CudaOperator::Layout {
  std::vector<BagTable> tables;
  std::vector<Level> levels;
  std::int64_t lookups = 0;
  std::int64_t rows = 0;
  unsigned pooling_blocks = 0;

  Layout(const OperatorShard& shard, std::span<const std::int64_t> table_lookups) {
    std::int64_t pooling = 0;
    int column = 0;
    for (std::size_t t = 0; t < shard.tables.size(); ++t) {
      const OperatorTable& from = shard.tables[t];
      tables.push_back({.weights = from.weights,
                        .indices = from.indices,
                        .offsets = from.offsets,
                        .lookups = table_lookups[t],
                        .first_lookup = lookups,
                        .first_key = static_cast<std::uint32_t>(rows),
                        .dim = from.dim,
                        .column = column,
                        .lanes_log2 = lanes_log2(from.dim),
                        .first_pooling = checked_blocks(pooling)});
      pooling += blocks_for(shard.batch, bags_of_block(tables.back().lanes_log2));
      column += from.dim;
      lookups += table_lookups[t];
      rows += from.rows;
      if (rows > std::int64_t{1} << 32) {
        throw Error(
            "cuda operator: the tables of a shard have more than 2^32 rows; measure "
            "smaller ones (--memory-gb)",
            ErrorKind::kBackend);
      }
    }
    pooling_blocks = checked_blocks(pooling);
    std::int64_t most = 0;
    for (const std::int64_t n : table_lookups) most = std::max(most, n);
    // Until one chunk has all lookups of a table.
    for (std::int64_t child_width = 1; most > 0; child_width *= kChunkWidth) {
      add_level(child_width);
      if (child_width * kChunkWidth >= most) break;
    }
  }

  void add_level(std::int64_t child_width) {
    Level level{.ranges = {}, .child_width = child_width, .floats = 0, .blocks = 0};
    std::int64_t blocks = 0;
    for (const BagTable& table : tables) {
      const std::int64_t width = child_width * kChunkWidth;
      const std::int64_t chunks = (table.lookups + width - 1) / width;
      level.ranges.push_back({chunks, level.floats, checked_blocks(blocks)});
      blocks += blocks_for(chunks, chunks_of_block(table.lanes_log2));
      level.floats += chunks * table.dim;
    }
    level.blocks = checked_blocks(blocks);
    levels.push_back(std::move(level));
  }

  [[nodiscard]] int key_bits() const {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1))));
  }
  [[nodiscard]] std::size_t views_bytes() const {
    return tables.size() * (sizeof(BagTable) + levels.size() * sizeof(ChunkRange));
  }
  // Arrays of 32-bit numbers, each on a 16-byte boundary.
  [[nodiscard]] std::size_t pair_stride() const {
    return static_cast<std::size_t>((lookups + 3) / 4 * 4);
  }
  [[nodiscard]] std::size_t pairs_bytes() const {
    return 4 * pair_stride() * sizeof(std::uint32_t);
  }
  [[nodiscard]] std::size_t partial_bytes() const {
    std::int64_t floats = 0;
    for (const Level& level : levels) floats += 2 * level.floats;
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
};

std::size_t CudaOperator::bytes_for(const OperatorShard& shard,
                                    std::span<const std::int64_t> lookups) {
  const Layout layout(shard, lookups);
  const std::size_t scratch =
      layout.lookups == 0 ? 0 : sort_scratch_bytes(layout.lookups, layout.key_bits());
  return layout.views_bytes() + layout.pairs_bytes() + layout.partial_bytes() + scratch;
}

void CudaOperator::set_shard(const OperatorShard& shard, std::span<const std::int64_t> lookups) {
  stream_.synchronize();  // The views are not in use any more.
  Layout layout(shard, lookups);
  tables_ = static_cast<int>(layout.tables.size());
  batch_ = shard.batch;
  stride_ = shard.dim_sum();
  lookups_ = layout.lookups;
  key_bits_ = layout.key_bits();
  pooling_blocks_ = layout.pooling_blocks;

  pairs_.reserve(layout.pairs_bytes());
  if (lookups_ > 0) scratch_.reserve(sort_scratch_bytes(lookups_, key_bits_));
  partial_.reserve(layout.partial_bytes());
  auto* numbers = reinterpret_cast<std::uint32_t*>(pairs_.data());
  for (int pair = 0; pair < 2; ++pair) {
    buffers_.keys[pair] = numbers + 2 * pair * layout.pair_stride();
    buffers_.samples[pair] = buffers_.keys[pair] + layout.pair_stride();
  }

  host_views_.reserve(layout.views_bytes());
  views_.reserve(layout.views_bytes());
  std::byte* at = host_views_.host();
  const auto put = [&at](const auto& values) {
    const std::size_t bytes = values.size() * sizeof(values[0]);
    std::memcpy(at, values.data(), bytes);
    at += bytes;
  };
  put(layout.tables);
  for (const Level& level : layout.levels) put(level.ranges);
  stream_.copy_to_device(views_.data(), host_views_.host(), layout.views_bytes());
  levels_ = std::move(layout.levels);
}

PartialSums CudaOperator::sums_of(std::size_t level) const {
  auto* floats = reinterpret_cast<float*>(partial_.data());
  for (std::size_t below = 0; below < level; ++below) floats += 2 * levels_[below].floats;
  return {floats, floats + levels_[level].floats};
}

void CudaOperator::forward(float* output) const {
  const auto* tables = reinterpret_cast<const BagTable*>(views_.data());
  pool_bags({tables, tables_, batch_, stride_, output}, pooling_blocks_, stream_.get());
}

void CudaOperator::backward(const float* gradient, float learning_rate) const {
  if (lookups_ == 0) return;
  const auto* tables = reinterpret_cast<const BagTable*>(views_.data());
  write_lookup_keys({tables, tables_, batch_, buffers_.keys[0], buffers_.samples[0]},
                    stream_.get());
  const int sorted =
      sort_lookups(buffers_, lookups_, key_bits_, scratch_.data(), scratch_.bytes(), stream_.get());
  const auto* ranges =
      reinterpret_cast<const ChunkRange*>(views_.data() + tables_ * sizeof(BagTable));
  UpdateArgs args{.tables = tables,
                  .count = tables_,
                  .keys = buffers_.keys[sorted],
                  .samples = buffers_.samples[sorted],
                  .gradient = gradient,
                  .stride = stride_,
                  .learning_rate = learning_rate,
                  .child_width = 1,
                  .children = nullptr,
                  .chunks = ranges,
                  .child_sums = {},
                  .sums = sums_of(0)};
  update_rows(args, levels_[0].blocks, stream_.get());
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    args.child_width = levels_[level].child_width;
    args.children = args.chunks;
    args.chunks += tables_;
    args.child_sums = args.sums;
    args.sums = sums_of(level);
    join_rows(args, levels_[level].blocks, stream_.get());
  }
}

}  // namespace neuroshard::gpu
