#pragma once

#include <cuda_pipeline_primitives.h>

#include <algorithm>
#include <initializer_list>

#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"
#include "cuda/networks/score_shards.h"
#include "neuroshard/published_sizes.h"

namespace neuroshard::gpu {

/// Sums of the embeddings of a tile of 32 shards, by one warp, for kernels whose warps take one
/// tile after another. All embeddings are in shared memory if there is room, and so are the ids of
/// a tile, which are copied there while the tile before it is multiplied with weights.

inline constexpr int kSumWidth = kPublishedEmbedding;
inline constexpr int kSumQuads = kSumWidth / 4;
inline constexpr int kTileShards = kWarpSize;
static_assert(kMaxScoredPieces * kSumQuads <= std::size_t{1} << 32);

/// Contents of shared memory behind that of a kernel itself: ids [warps, ids], then embeddings.
struct GatherShape {
  int ids = 0;  ///< Room of a tile, a multiple of 4.
  bool rows_in_shared = false;
  std::size_t bytes = 0;
};

inline constexpr std::uint32_t kIdBytes = sizeof(std::uint32_t);
inline constexpr int kIdsOfTile[] = {1024, 768, 576, 384, 256, 128};

constexpr std::size_t id_bytes(int warps, int ids) {
  return static_cast<std::size_t>(warps * ids) * kIdBytes;
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

/// Starts a kernel that takes tiles of shards: a block of `warps` warps on each multiprocessor, or
/// one for each tile if there are fewer. `own_bytes`: the kernel's shared memory before what is
/// gathered.
inline void launch_on_tiles(void (*rows_in_shared)(ScoreArgs, int),
                            void (*rows_in_global)(ScoreArgs, int), const ScoreArgs& args,
                            int warps, std::size_t own_bytes, int multiprocessors,
                            std::size_t max_shared_bytes, cudaStream_t stream) {
  const int blocks = std::min((args.shards + kTileShards - 1) / kTileShards, multiprocessors);
  const GatherShape shape = choose_gather_shape(args.pieces, warps, max_shared_bytes - own_bytes);
  launch(shape.rows_in_shared ? rows_in_shared : rows_in_global,
         {static_cast<unsigned>(blocks), static_cast<unsigned>(warps) * kWarpSize,
          own_bytes + shape.bytes},
         stream, args, shape.ids);
}

__device__ inline float at(const float4& v, int i) {
  return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

/// The first shard of this warp's first tile. Tiles go round the blocks before a block's next warp
/// takes one: a few tiles are on as many multiprocessors.
__device__ inline int first_of_warp() {
  return (warp_index() * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) * kTileShards;
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

/// Four lanes share a shard, so that a lane has two quads of its sum, and so of four shards.
inline constexpr int kGatherLanes = 4;
inline constexpr int kGatherQuads = kSumQuads / kGatherLanes;
inline constexpr int kGatherShards = kTileShards / (kWarpSize / kGatherLanes);
static_assert(kGatherQuads == 2 && kGatherShards == 4);

/// Quads kGatherQuads * (lane % kGatherLanes) and the next of the sums of shards
/// kGatherShards * (lane / kGatherLanes) and those behind it.
using LaneSums = float4[kGatherShards][kGatherQuads];

template <bool kRowsInShared>
class ShardGather {
 public:
  /// By all threads of a block. Embeddings are on their way to shared memory then: a wait for
  /// copies and a barrier must come before add_up(). `memory`: what GatherShape counts, on 16 bytes
  /// of shared memory.
  __device__ ShardGather(const ScoreArgs& args, std::byte* memory, int capacity)
      : args_(args), capacity_(static_cast<std::uint32_t>(capacity)) {
    const std::uint32_t bytes_of_warp = capacity_ * kIdBytes;
    const auto all_ids = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    ids_ = all_ids + static_cast<std::uint32_t>(warp_index()) * bytes_of_warp;
    const std::uint32_t rows =
        all_ids + static_cast<std::uint32_t>(warps_in_block()) * bytes_of_warp;
    const auto first = static_cast<std::uint32_t>(lane_index() % kGatherLanes * kGatherQuads);
#pragma unroll
    for (std::uint32_t i = 0; i < kGatherQuads; ++i) {
      // Loads of 16 bytes are served eight lanes at a time, of two shards: one of these starts with
      // its second quads, so that each bank is read once.
      const std::uint32_t quad = first + (i ^ (starts_with_second() ? 1U : 0U));
      // Through a shuffle, so that the compiler takes it as it is: one instruction an address,
      // where it would add up quad, base and row in two.
      row_[i] = __shfl_sync(
          kAllLanes,
          kRowsInShared ? rows + quad * static_cast<std::uint32_t>(sizeof(float4)) : quad,
          lane_index());
    }
    // Ids that were never copied are read, too, though nothing is done with their rows.
    for (int i = lane_index(); i < capacity; i += kWarpSize) (&at<std::uint32_t>(ids_))[i] = 0;
    if constexpr (kRowsInShared) {
      const auto* from = reinterpret_cast<const float4*>(args.embeddings);
      for (int i = static_cast<int>(threadIdx.x); i < args.pieces * kSumQuads;
           i += static_cast<int>(blockDim.x)) {
        __pipeline_memcpy_async(&at<float4>(rows) + i, from + i, sizeof(float4));
      }
    }
    __syncwarp();  // Before ids are copied in place of zeros.
  }

  /// Starts to copy the ids of a tile. The lanes have waited for each other since they last read
  /// ids. Tiles of more ids than there is room for are not copied.
  __device__ void fetch_ids(const IdRange& mine) const {
    constexpr int kCopies = 4;  // In a row.
    const Tile tile = tile_of(mine);
    if (tile.staged && tile.longest > 0) {
      const std::uint32_t* from = args_.piece_ids + tile.base;
      std::uint32_t* to = &at<std::uint32_t>(ids_);
      const auto lane = static_cast<std::uint32_t>(lane_index());
      const std::uint32_t whole = tile.count & ~3U;
#pragma unroll 1
      for (std::uint32_t first = 4 * lane; first < whole; first += kCopies * 4 * kWarpSize) {
#pragma unroll
        for (std::uint32_t k = 0; k < kCopies; ++k) {
          const std::uint32_t i = first + k * 4 * kWarpSize;
          if (i < whole) __pipeline_memcpy_async(to + i, from + i, 16);
        }
      }
      if (whole + lane < tile.count) {
        __pipeline_memcpy_async(to + whole + lane, from + whole + lane, 4);
      }
    }
    __pipeline_commit();
  }

  /// Waits for the ids, then adds up embeddings.
  __device__ void add_up(const IdRange& mine, LaneSums& sums) const {
    __pipeline_wait_prior(0);
    __syncwarp();
    const Tile tile = tile_of(mine);
    const auto shard = static_cast<std::uint32_t>(lane_index() / kGatherLanes * kGatherShards);
    const std::uint32_t first = __shfl_sync(kAllLanes, mine.begin, 0) - tile.base;
#pragma unroll
    for (auto& quads : sums) {
#pragma unroll
      for (float4& quad : quads) quad = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    }
    if (tile.staged && tile.shortest == tile.longest && (tile.longest | first) % 4 == 0) {
      add_quads_of_ids(tile.longest, shard, sums);
    } else {
      std::uint32_t begin[kGatherShards];
      int count[kGatherShards];
#pragma unroll
      for (int j = 0; j < kGatherShards; ++j) {
        begin[j] = __shfl_sync(kAllLanes, mine.begin, static_cast<int>(shard) + j);
        const std::uint32_t end = __shfl_sync(kAllLanes, mine.end, static_cast<int>(shard) + j);
        count[j] = static_cast<int>(end - begin[j]);
        begin[j] -= tile.base;
      }
      if (tile.staged) {
        add_ids(tile.longest, begin, count, sums,
                [&](std::uint32_t i) { return at<std::uint32_t>(ids_ + i * kIdBytes); });
      } else {
        const std::uint32_t* from = args_.piece_ids + tile.base;
        add_ids(tile.longest, begin, count, sums,
                [&](std::uint32_t i) { return read_only(from + (i < tile.count ? i : 0)); });
      }
    }
#pragma unroll
    for (auto& quads : sums) {
      const float4 loaded_first = quads[0];
      quads[0] = starts_with_second() ? quads[1] : loaded_first;
      quads[1] = starts_with_second() ? loaded_first : quads[1];
    }
  }

 private:
  /// Ids lie in shared memory as they do in device memory, from the quad of the first one on.
  struct Tile {
    std::uint32_t base;   ///< Ids before that quad.
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
    tile.staged = tile.count <= capacity_ && tile.count + tile.longest + 4 <= capacity_;
    return tile;
  }

  __device__ static bool starts_with_second() { return lane_index() / kGatherLanes % 2 != 0; }

  // Shards of the same number of tables, a multiple of 4, from a 16-byte boundary on.
  __device__ void add_quads_of_ids(std::uint32_t tables, std::uint32_t shard,
                                   LaneSums& sums) const {
    std::uint32_t next[kGatherShards];
#pragma unroll
    for (std::uint32_t j = 0; j < kGatherShards; ++j)
      next[j] = ids_ + (shard + j) * tables * kIdBytes;
    const std::uint32_t end = next[1];
#pragma unroll 1
    while (next[0] != end) {
#pragma unroll
      for (int j = 0; j < kGatherShards; ++j) {
        const uint4 id = at<uint4>(next[j]);
        const std::uint32_t ids[4] = {id.x, id.y, id.z, id.w};
        float4 rows[4][kGatherQuads];
#pragma unroll
        for (int t = 0; t < 4; ++t) read_row(ids[t], rows[t]);
#pragma unroll
        for (int t = 0; t < 4; ++t) add(sums[j], rows[t]);
        next[j] += 4 * kIdBytes;
      }
    }
  }

  // Any shards. Loads depend on no condition: one that might be left out gets a register of its
  // own, and then a move that waits for it. So other rows are read where a shard has no more
  // tables, and not added.
  template <typename IdAt>
  __device__ void add_ids(std::uint32_t longest, std::uint32_t (&begin)[kGatherShards],
                          int (&left)[kGatherShards], LaneSums& sums, const IdAt& id_at) const {
#pragma unroll 1
    for (std::uint32_t k = 0; k < longest; k += 4) {
#pragma unroll
      for (int j = 0; j < kGatherShards; ++j) {
        float4 rows[4][kGatherQuads];
#pragma unroll
        for (std::uint32_t t = 0; t < 4; ++t) read_row(id_at(begin[j] + t), rows[t]);
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          if (t < left[j]) add(sums[j], rows[t]);
        }
        begin[j] += 4;
        left[j] -= 4;
      }
    }
  }

  // This lane's quads.
  __device__ void read_row(std::uint32_t id, float4 (&quads)[kGatherQuads]) const {
#pragma unroll
    for (int i = 0; i < kGatherQuads; ++i) {
      if constexpr (kRowsInShared) {
        constexpr std::uint32_t kRowBytes = kSumWidth * sizeof(float);
        quads[i] = at<float4>(id * kRowBytes + row_[i]);
      } else {
        const auto* rows = reinterpret_cast<const float4*>(args_.embeddings);
        quads[i] = read_only(rows + (id * kSumQuads + row_[i]));
      }
    }
  }

  __device__ static void add(float4 (&sum)[kGatherQuads], const float4 (&row)[kGatherQuads]) {
#pragma unroll
    for (int i = 0; i < kGatherQuads; ++i) {
      sum[i].x += row[i].x;
      sum[i].y += row[i].y;
      sum[i].z += row[i].z;
      sum[i].w += row[i].w;
    }
  }

  // Addresses in shared memory have 32 bits, and are what its loads take: from generic ones, nvcc
  // goes back to them at every load.
  template <typename T>
  __device__ static T& at(std::uint32_t address) {
    return *static_cast<T*>(__cvta_shared_to_generic(address));
  }

  const ScoreArgs& args_;  ///< The kernel's argument: kept in constant memory, not in registers.
  std::uint32_t ids_;      ///< Ids of this warp [capacity_]: address in shared memory.
  std::uint32_t capacity_;
  /// Quads of row 0, in the order in which they are read: addresses in shared memory, or quads of
  /// args.embeddings.
  std::uint32_t row_[kGatherQuads];
};

}  // namespace neuroshard::gpu
