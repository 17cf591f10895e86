#include "cuda/device/launch.h"
#include "cuda/operators/bag_tables.cuh"
#include "cuda/operators/update_rows.h"

namespace neuroshard::gpu {
namespace {

constexpr int kAtOnce = 4;

// A group of lanes works on chunk `chunk` of a table, and the lookups [begin, end) in it.
struct Chunk {
  std::int64_t chunk = -1;  ///< Negative: none.
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int table = 0;
  int first_quad = 0;
};

__device__ inline Chunk chunk_of_group(const UpdateArgs& args, std::int64_t width) {
  Chunk mine;
  mine.table =
      table_of_block(args.count, blockIdx.x, [&](int t) { return args.chunks[t].first_block; });
  const ChunkRange range = args.chunks[mine.table];
  const BagTable& table = args.tables[mine.table];
  const auto thread = static_cast<unsigned>(threadIdx.x);
  const std::int64_t chunk = static_cast<std::int64_t>(blockIdx.x - range.first_block) *
                                 (kBagThreads >> table.lanes_log2) +
                             (thread >> table.lanes_log2);
  if (chunk >= range.chunks) return mine;
  mine.chunk = chunk;
  mine.begin = table.first_lookup + chunk * width;
  mine.end = table.first_lookup + table.lookups;
  if (mine.end - mine.begin > width) mine.end = mine.begin + width;
  mine.first_quad = static_cast<int>(thread & ((1U << table.lanes_log2) - 1U));
  return mine;
}

// True if the lookup before `i` is of the same table and row.
__device__ inline bool continues(const BagTable& table, const std::uint32_t* keys, std::int64_t i) {
  return i > table.first_lookup && i < table.first_lookup + table.lookups &&
         read_only(keys + i - 1) == read_only(keys + i);
}

__device__ inline void descend(float4& weights, const float4& gradient, float learning_rate) {
  weights.x -= learning_rate * gradient.x;
  weights.y -= learning_rate * gradient.y;
  weights.z -= learning_rate * gradient.z;
  weights.w -= learning_rate * gradient.w;
}

__device__ inline float4* quad_of(float* partial, const ChunkRange& range, std::int64_t chunk,
                                  int quads, int quad) {
  return reinterpret_cast<float4*>(partial + range.first_float) + chunk * quads + quad;
}

// Backward, first level. dim / 4 lanes walk over 32 sorted lookups, a quad of columns each, and sum
// the gradients of each row; a row that begins and ends here is updated at once. Four gradients and
// the rows that end with them are on their way at a time. Bound by device memory: a gradient per
// lookup (from the L2 if it is there), a read and a write per row.
__global__ void __launch_bounds__(kBagThreads, 2) update_rows_kernel(const UpdateArgs args) {
  const Chunk mine = chunk_of_group(args, kChunkWidth);
  if (mine.chunk < 0) return;
  const BagTable& table = args.tables[mine.table];
  const ChunkRange& range = args.chunks[mine.table];
  const int quads = table.dim / 4;
  for (int quad = mine.first_quad; quad < quads; quad += 1 << table.lanes_log2) {
    auto* weights = reinterpret_cast<float4*>(table.weights) + quad;
    const float* gradient = args.gradient + table.column + std::ptrdiff_t{4} * quad;
    bool goes_on = continues(table, args.keys, mine.begin);
    bool whole = false;  // The row began in this chunk.
    float4 sum = zeros();
    for (std::int64_t base = mine.begin; base < mine.end; base += kAtOnce) {
      float4 values[kAtOnce] = {};
      float4 rows[kAtOnce] = {};
      std::int64_t row[kAtOnce] = {};
      bool starts[kAtOnce] = {};
      bool ends[kAtOnce] = {};
      bool updates[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t i = base + k;
        if (i >= mine.end) continue;
        starts[k] = !goes_on;
        whole = whole || starts[k];
        goes_on = continues(table, args.keys, i + 1);
        ends[k] = !goes_on;
        updates[k] = whole && ends[k];
        row[k] = read_only(args.keys + i) - table.first_key;
        values[k] = read_only(
            reinterpret_cast<const float4*>(gradient + read_only(args.samples + i) * args.stride));
        if (updates[k]) rows[k] = weights[row[k] * quads];
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (base + k >= mine.end) continue;
        sum = sum_of(starts[k] ? zeros() : sum, values[k]);
        if (updates[k]) {
          descend(rows[k], sum, args.learning_rate);
          weights[row[k] * quads] = rows[k];
        } else if (ends[k]) {
          *quad_of(args.sums.head, range, mine.chunk, quads, quad) = sum;
        }
      }
    }
    if (goes_on) {
      *quad_of(whole ? args.sums.tail : args.sums.head, range, mine.chunk, quads, quad) = sum;
    }
  }
}

// The levels above: the same lanes walk over 32 chunks of the level below and put together what
// these have left of each row, so that no chain is longer than 32 however hot a row is. Far less
// traffic than the first level: at most two sums for 32 lookups.
__global__ void __launch_bounds__(kBagThreads) join_rows_kernel(const UpdateArgs args) {
  const Chunk mine = chunk_of_group(args, args.child_width * kChunkWidth);
  if (mine.chunk < 0) return;
  const BagTable& table = args.tables[mine.table];
  const ChunkRange& range = args.chunks[mine.table];
  const ChunkRange& below = args.children[mine.table];
  const int quads = table.dim / 4;
  const std::int64_t first_child = mine.chunk * kChunkWidth;
  for (int quad = mine.first_quad; quad < quads; quad += 1 << table.lanes_log2) {
    auto* weights = reinterpret_cast<float4*>(table.weights) + quad;
    bool whole = false;  // The row began in this chunk.
    bool goes_on = false;
    float4 sum = zeros();
    for (int base = 0; base < kChunkWidth; base += kAtOnce) {
      float4 heads[kAtOnce] = {};
      float4 tails[kAtOnce] = {};
      std::int64_t row[kAtOnce] = {};
      bool has_head[kAtOnce] = {};
      bool has_tail[kAtOnce] = {};
      bool ends[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t begin = mine.begin + (base + k) * args.child_width;
        if (begin >= mine.end) continue;
        const std::int64_t end =
            mine.end - begin < args.child_width ? mine.end : begin + args.child_width;
        const std::uint32_t key = read_only(args.keys + begin);
        has_head[k] = continues(table, args.keys, begin);
        goes_on = continues(table, args.keys, end);
        const bool through = has_head[k] && goes_on && read_only(args.keys + end - 1) == key;
        ends[k] = has_head[k] && !through;
        has_tail[k] = goes_on && !through;
        row[k] = key - table.first_key;
        const std::int64_t child = first_child + base + k;
        if (has_head[k]) heads[k] = *quad_of(args.child_sums.head, below, child, quads, quad);
        if (has_tail[k]) tails[k] = *quad_of(args.child_sums.tail, below, child, quads, quad);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (has_head[k]) sum = sum_of(sum, heads[k]);
        if (ends[k] && whole) {
          float4 weight = weights[row[k] * quads];
          descend(weight, sum, args.learning_rate);
          weights[row[k] * quads] = weight;
        } else if (ends[k]) {
          *quad_of(args.sums.head, range, mine.chunk, quads, quad) = sum;
        }
        if (has_tail[k]) {
          sum = sum_of(zeros(), tails[k]);
          whole = true;
        }
      }
    }
    if (goes_on) {
      *quad_of(whole ? args.sums.tail : args.sums.head, range, mine.chunk, quads, quad) = sum;
    }
  }
}

}  // namespace

int chunks_of_block(int lanes_log2) { return kBagThreads >> lanes_log2; }

void update_rows(const UpdateArgs& args, unsigned blocks, cudaStream_t stream) {
  launch(update_rows_kernel, {blocks, kBagThreads, 0}, stream, args);
}

void join_rows(const UpdateArgs& args, unsigned blocks, cudaStream_t stream) {
  launch(join_rows_kernel, {blocks, kBagThreads, 0}, stream, args);
}

}  // namespace neuroshard::gpu
