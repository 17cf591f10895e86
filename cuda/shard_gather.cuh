#pragma once

#include <cuda_pipeline_primitives.h>

#include <initializer_list>

#include "cuda/score_shards.h"
#include "cuda/warp.cuh"
#include "neuroshard/published_sizes.h"

namespace neuroshard::gpu {

/// Sums of the embeddings of a tile of 32 shards, by one warp, for kernels whose warps take one
/// tile after another. All embeddings are in shared memory if there is room, and so are the ids of
/// a tile, which are copied there while the tile before it is multiplied with weights.

inline constexpr int kSumWidth = kPublishedEmbedding;
inline constexpr int kSumQuads = kSumWidth / 4;
inline constexpr int kTileShards = kWarpSize;
static_assert(kMaxScoredPieces * kSumQuads <= std::size_t{1} << 32);

/// What lies in shared memory behind that of a kernel itself: ids [warps, ids], then embeddings.
struct GatherShape {
  int ids = 0;  ///< Of a tile, a multiple of 4.
  bool rows_in_shared = false;
  std::size_t bytes = 0;
};

inline constexpr int kIdsOfTile[] = {1024, 512, 256, 128};

constexpr std::size_t id_bytes(int warps, int ids) {
  return static_cast<std::size_t>(warps * ids) * sizeof(std::uint32_t);
}
constexpr std::size_t least_gather_bytes(int warps) { return id_bytes(warps, 128); }

/// Embeddings in shared memory come before ids in it. `max_bytes`: least_gather_bytes() or more.
inline GatherShape choose_gather_shape(int pieces, int warps, std::size_t max_bytes) {
  const std::size_t row_bytes = static_cast<std::size_t>(pieces) * kSumWidth * sizeof(float);
  for (const bool rows_in_shared : {true, false}) {
    for (const int ids : kIdsOfTile) {
      const std::size_t bytes = id_bytes(warps, ids) + (rows_in_shared ? row_bytes : 0);
      if (bytes <= max_bytes) return {ids, rows_in_shared, bytes};
    }
  }
  return {};
}

/// The ids of this lane's shard; none beyond the last shard.
struct IdRange {
  std::uint32_t begin;
  std::uint32_t end;
};

__device__ inline IdRange ids_of_lane(const ScoreArgs& args, int first) {
  const int shard = min(first + lane_index(), args.shards);
  return {read_only(args.offsets + shard), read_only(args.offsets + min(shard + 1, args.shards))};
}

template <bool kRowsInShared>
class ShardGather {
 public:
  /// By all threads of a block; a barrier must follow. `memory`: of GatherShape, on 16 bytes.
  __device__ ShardGather(const ScoreArgs& args, std::byte* memory, int capacity)
      : args_(args),
        ids_(reinterpret_cast<std::uint32_t*>(memory) + warp_index() * capacity),
        capacity_(static_cast<std::uint32_t>(capacity)) {
    auto* rows = reinterpret_cast<float4*>(memory) + warps_in_block() * capacity / 4;
    const auto quad = static_cast<std::uint32_t>(lane_index()) % kSumQuads;
    // Through a shuffle, so that the compiler takes it as it is: one instruction an address, where
    // it would add up quad, base and row in two.
    row_ = __shfl_sync(kAllLanes,
                       kRowsInShared
                           ? static_cast<std::uint32_t>(reinterpret_cast<std::byte*>(rows + quad) -
                                                        dynamic_shared_memory())
                           : quad,
                       lane_index());
    // Ids that were never copied are read, too, though nothing is done with their rows.
    for (int i = lane_index(); i < capacity; i += kWarpSize) ids_[i] = 0;
    if constexpr (kRowsInShared) {
      const auto* from = reinterpret_cast<const float4*>(args.embeddings);
      for (int i = static_cast<int>(threadIdx.x); i < args.pieces * kSumQuads;
           i += static_cast<int>(blockDim.x)) {
        rows[i] = read_only(from + i);
      }
    }
  }

  /// Starts to copy the ids of a tile. The lanes have waited for each other since they last read
  /// ids. Tiles of more ids than there is room for are not copied.
  __device__ void fetch_ids(const IdRange& mine) const {
    const Tile tile = tile_of(mine);
    if (tile.staged && tile.longest > 0) {
      const std::uint32_t* from = args_.piece_ids + tile.base;
      const auto lane = static_cast<std::uint32_t>(lane_index());
      const std::uint32_t whole = tile.count & ~3U;
#pragma unroll 1
      for (std::uint32_t i = 4 * lane; i < whole; i += 4 * kWarpSize) {
        __pipeline_memcpy_async(ids_ + i, from + i, 16);
      }
      if (whole + lane < tile.count) {
        __pipeline_memcpy_async(ids_ + whole + lane, from + whole + lane, 4);
      }
    }
    __pipeline_commit();
  }

  /// Waits for the ids, then adds up embeddings: eight lanes a shard, 16 bytes of each embedding a
  /// lane, four shards a lane at a time. `store(quad, four, sums)` gets quad `quad` of the sums of
  /// shards 4 `four` to 4 `four` + 3.
  template <typename Store>
  __device__ void add_up(const IdRange& mine, const Store& store) const {
    __pipeline_wait_prior(0);
    __syncwarp();
    const Tile tile = tile_of(mine);
    const auto quad = static_cast<std::uint32_t>(lane_index()) % kSumQuads;
    const auto group = static_cast<std::uint32_t>(lane_index()) / kSumQuads;
    const std::uint32_t first = __shfl_sync(kAllLanes, mine.begin, 0) - tile.base;
    const bool quads_of_ids =
        tile.staged && tile.shortest == tile.longest && (tile.longest | first) % 4 == 0;
#pragma unroll 1
    for (std::uint32_t four = group; four < kTileShards / 4; four += kWarpSize / kSumQuads) {
      float4 sum[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[j] = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (quads_of_ids) {
        add_quads_of_ids(tile.longest, four, sum);
      } else {
        std::uint32_t begin[4];
        int count[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int shard = static_cast<int>(4 * four) + j;
          begin[j] = __shfl_sync(kAllLanes, mine.begin, shard);
          count[j] = static_cast<int>(__shfl_sync(kAllLanes, mine.end, shard) - begin[j]);
          begin[j] -= tile.base;
        }
        if (tile.staged) {
          add_ids(tile.longest, begin, count, sum, [&](std::uint32_t i) { return ids_[i]; });
        } else {
          const std::uint32_t* from = args_.piece_ids + tile.base;
          add_ids(tile.longest, begin, count, sum,
                  [&](std::uint32_t i) { return read_only(from + (i < tile.count ? i : 0)); });
        }
      }
      store(quad, four, sum);
    }
  }

 private:
  /// Ids lie in shared memory as they do in device memory, from the quad of the first one on.
  struct Tile {
    std::uint32_t base;   ///< What lies before that quad.
    std::uint32_t count;  ///< From there on.
    std::uint32_t longest;
    std::uint32_t shortest;
    bool staged;
  };

  __device__ Tile tile_of(const IdRange& mine) const {
    const std::uint32_t tables = mine.end - mine.begin;
    Tile tile{};
    tile.base = __shfl_sync(kAllLanes, mine.begin, 0) & ~3U;
    tile.count = __shfl_sync(kAllLanes, mine.end, kWarpSize - 1) - tile.base;
    tile.longest = __reduce_max_sync(kAllLanes, tables);
    tile.shortest = __reduce_min_sync(kAllLanes, tables);
    // A shard's ids are read up to those of the longest one, four at a time.
    tile.staged = tile.count + tile.longest + 4 <= capacity_;
    return tile;
  }

  // Shards of the same number of tables, a multiple of 4, from a 16-byte boundary on.
  __device__ void add_quads_of_ids(std::uint32_t tables, std::uint32_t four,
                                   float4 (&sum)[4]) const {
    const uint4* list[4];
#pragma unroll
    for (std::uint32_t j = 0; j < 4; ++j) {
      list[j] = reinterpret_cast<const uint4*>(ids_ + (4 * four + j) * tables);
    }
#pragma unroll 1
    for (std::uint32_t k = 0; k < tables / 4; ++k) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const uint4 id = *list[j]++;
        const float4 a = row(id.x);
        const float4 b = row(id.y);
        const float4 c = row(id.z);
        const float4 d = row(id.w);
        sum[j] = plus(plus(plus(plus(sum[j], a), b), c), d);
      }
    }
  }

  // Any shards. Loads depend on no condition: one that might be left out gets a register of its
  // own, and then a move that waits for it. So other rows are read where a shard has no more
  // tables, and not added.
  template <typename IdAt>
  __device__ void add_ids(std::uint32_t longest, std::uint32_t (&begin)[4], int (&left)[4],
                          float4 (&sum)[4], const IdAt& id_at) const {
#pragma unroll 1
    for (std::uint32_t k = 0; k < longest; k += 4) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float4 rows[4];
#pragma unroll
        for (std::uint32_t t = 0; t < 4; ++t) rows[t] = row(id_at(begin[j] + t));
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          if (t < left[j]) sum[j] = plus(sum[j], rows[t]);
        }
        begin[j] += 4;
        left[j] -= 4;
      }
    }
  }

  // This lane's quad.
  __device__ float4 row(std::uint32_t id) const {
    if constexpr (kRowsInShared) {
      constexpr std::uint32_t kRowBytes = kSumWidth * sizeof(float);
      return *reinterpret_cast<const float4*>(dynamic_shared_memory() + (id * kRowBytes + row_));
    }
    return read_only(reinterpret_cast<const float4*>(args_.embeddings) + (id * kSumQuads + row_));
  }

  __device__ static float4 plus(const float4& a, const float4& b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }

  const ScoreArgs& args_;  ///< The kernel's argument: kept in constant memory, not in registers.
  std::uint32_t* ids_;     ///< [capacity_] of this warp.
  std::uint32_t capacity_;
  std::uint32_t row_;  ///< Row 0 of this lane: bytes in shared memory, or quads of args.embeddings.
};

}  // namespace neuroshard::gpu
