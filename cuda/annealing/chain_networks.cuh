#pragma once

#include "core/tables/id_columns.h"
#include "cuda/annealing/chain_views.h"
#include "cuda/placement/final_costs.cuh"

namespace neuroshard::gpu {

// As std::min and std::max choose, of which the second is passed over if it is no number.
[[nodiscard]] __device__ inline double chain_lower(double a, double b) { return b < a ? b : a; }
[[nodiscard]] __device__ inline double chain_higher(double a, double b) { return a < b ? b : a; }

/// Runs rows of inputs in the first of two tiles, as tile_mlp() has them, through a network. One
/// copy of that code for all networks, since a chain's code is to stay in the instruction cache.
/// Weights come from L1.
__noinline__ __device__ static const float* chain_mlp(const MlpView& mlp, float* tiles, int stride,
                                                      int rows) {
  return tile_mlp(mlp, tiles, kChainTileRows * stride, stride, rows, false);
}

/// A symmetric network for up to kChainTileRows rows, likewise in one copy. A lane that is `in` has
/// row `row`, and gets its cost. Who gives a row to another lane after that waits before.
__noinline__ __device__ static float chain_rows(const CommNetworkView& network, float log2_devices,
                                                float* tiles, int stride, bool in, int row,
                                                int rows, float columns, float offset_ms,
                                                SharedInputs shared) {
  const float share = seen_share(shared.max_offset, network.most_offset_ms);
  if (in) {
    float* x = tiles + row * stride;
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
      x[i] = (symmetric_feature(i, columns, offset_ms, shared, log2_devices, share) -
              read_only(network.features.mean + i)) /
             read_only(network.features.std + i);
    }
  }
  const float* out = chain_mlp(network.mlp, tiles, stride, rows);
  return in ? with_unseen_wait(out[row * stride], offset_ms, shared.max_offset, share) : 0.0F;
}

/// A dense network for all devices, likewise; null offsets are not among its inputs. Starts and
/// ends with a barrier.
__noinline__ __device__ static void chain_dense(const CommNetworkView& network, int devices,
                                                float* tiles, int stride, const float* columns,
                                                const float* offsets_ms, float* cost_ms) {
  const int inputs = network.mlp.inputs;
  const float last = last_offset(offsets_ms, devices);
  const float share = seen_share(last, network.most_offset_ms);
  __syncwarp();
#pragma unroll 1
  for (int i = lane_index(); i < round_to_4(inputs); i += kWarpSize) {
    float x = 0.0F;
    if (i < inputs) {
      const float raw = i < devices ? columns[i] : share * offsets_ms[i - devices];
      x = (raw - read_only(network.features.mean + i)) / read_only(network.features.std + i);
    }
    tiles[i] = x;
  }
  const float* out = chain_mlp(network.mlp, tiles, stride, 1);
#pragma unroll 1
  for (int d = lane_index(); d < devices; d += kWarpSize) {
    cost_ms[d] =
        offsets_ms == nullptr ? out[d] : with_unseen_wait(out[d], offsets_ms[d], last, share);
  }
  __syncwarp();
}

/// The networks of a chain, by its warp, and costs of theirs that it remembers. Inputs and outputs
/// are in the tiles of the block.
class ChainNetworks {
 public:
  __device__ ChainNetworks(const ChainArgs& args, const ChainView& chain, const AnnealingView& task)
      : head_(args.head),
        comm_(chain.problem->comm),
        task_(task),
        stride_(tile_stride(chain.sizes.tile_width)) {
    const ChainLayout layout = chain_layout(chain.sizes);
    std::byte* memory = dynamic_shared_memory();
    ids_ = reinterpret_cast<RememberedIds*>(memory + layout.ids);
    columns_ = reinterpret_cast<float4*>(memory + layout.remembered);
    tile_ = reinterpret_cast<float*>(memory + layout.tile);
  }

  /// Remembers nothing.
  __device__ void begin() {
    for (int i = lane_index(); i < static_cast<int>(kRememberedIds); i += kWarpSize) {
      ids_[i] = {-1, 0.0};
    }
#pragma unroll 1
    for (int i = lane_index(); i < static_cast<int>(kRememberedColumns); i += kWarpSize) {
      columns_[i] = make_float4(-1.0F, 0.0F, 0.0F, 0.0F);
    }
  }

  /// Floats from row to row of a tile.
  [[nodiscard]] __device__ int stride() const { return stride_; }
  /// Row of the tile that networks take their inputs from.
  [[nodiscard]] __device__ float* input(int row) const { return tile_ + row * stride_; }

  /// The head for so many rows of inputs, sums of embeddings; costs are stride() apart.
  [[nodiscard]] __device__ const float* heads_ms(int rows) const {
    return chain_mlp(head_, tile_, stride_, rows);
  }

  /// Symmetric networks, as chain_rows() has them.
  __device__ float forward_ms(bool in, int row, int rows, float columns, float offset_ms,
                              const SharedInputs& shared) const {
    return rows_ms(comm_.forward, in, row, rows, columns, offset_ms, shared);
  }

  /// Backward cost of a device with so many columns, for lanes that are `in`; all call it.
  __device__ float backward_ms(bool in, float columns, const SharedInputs& range) {
    const unsigned hash = __float_as_uint(columns) * 2654435761U ^
                          __float_as_uint(range.max_dim_sum) * 2246822519U ^
                          __float_as_uint(range.min_dim_sum) * 3266489917U;
    float4& entry = columns_[(hash >> 16U) % kRememberedColumns];
    float cost_ms = 0.0F;
    bool missing = false;
    if (in) {
      const float4 known = entry;
      missing =
          !(known.x == columns && known.y == range.max_dim_sum && known.z == range.min_dim_sum);
      cost_ms = known.w;
    }
    unsigned open = __ballot_sync(kAllLanes, missing);
    while (open != 0) {
      const int row = __popc(open & ((1U << static_cast<unsigned>(lane_index())) - 1U));
      const bool now = missing && row < kChainTileRows;
      const int rows = min(__popc(open), kChainTileRows);
      const float asked_ms = rows_ms(comm_.backward, now, row, rows, columns, 0.0F, range);
      // One after the other: two may have the same place.
#pragma unroll 1
      for (int r = 0; r < rows; ++r) {
        if (now && row == r)
          entry = make_float4(columns, range.max_dim_sum, range.min_dim_sum, asked_ms);
        __syncwarp();
      }
      cost_ms = now ? asked_ms : cost_ms;
      missing = missing && !now;
      open = __ballot_sync(kAllLanes, missing);
    }
    return cost_ms;
  }

  /// Of the exchange of ids that come to so many columns, as IdExchange.
  [[nodiscard]] __device__ double ids_ms(std::int64_t columns) {
    RememberedIds& entry = ids_[static_cast<std::uint64_t>(columns) % kRememberedIds];
    if (entry.columns == columns) return entry.ms;
    const double wanted = static_cast<double>(columns);
    const double factor = chain_higher(1.0, wanted / kMostIdColumns);
    double ms = 0.0;
    // Beyond what networks see, in proportion: what so many columns take, and what none does.
#pragma unroll 1
    for (int part = 0; part < (factor > 1.0 ? 2 : 1); ++part) {
      const auto seen = static_cast<float>(part == 0 ? chain_lower(wanted, kMostIdColumns) : 0.0);
      SharedInputs shared{};
      shared.mean_dim_sum = shared.max_dim_sum = shared.min_dim_sum = seen;
      const float row_ms = rows_ms(comm_.backward, lane_index() == 0, 0, 1, seen, 0.0F, shared);
      const auto part_ms = static_cast<double>(__shfl_sync(kAllLanes, row_ms, 0));
      if (part == 0) {
        ms = factor > 1.0 ? factor * part_ms : part_ms;
      } else {
        ms = ms + (1.0 - factor) * part_ms;
      }
    }
    if (lane_index() == 0) entry = {columns, ms};  // Read again for another edit.
    return ms;
  }

  /// Dense networks, as chain_dense() has them.
  __device__ void backward_dense(const float* columns, float* cost_ms) const {
    chain_dense(comm_.backward, task_.devices, tile_, stride_, columns, nullptr, cost_ms);
  }
  __device__ void forward_dense(const float* columns, const float* offsets_ms,
                                float* cost_ms) const {
    chain_dense(comm_.forward, task_.devices, tile_, stride_, columns, offsets_ms, cost_ms);
  }

 private:
  struct alignas(16) RememberedIds {
    std::int64_t columns;
    double ms;
  };

  __device__ float rows_ms(const CommNetworkView& network, bool in, int row, int rows,
                           float columns, float offset_ms, const SharedInputs& shared) const {
    return chain_rows(network, task_.log2_devices, tile_, stride_, in, row, rows, columns,
                      offset_ms, shared);
  }

  const MlpView& head_;
  const CommView& comm_;
  const AnnealingView& task_;
  int stride_;
  RememberedIds* ids_;
  float4* columns_;  ///< Backward costs: columns, most, fewest, ms.
  float* tile_;      ///< Two, each of kChainTileRows rows.
};

}  // namespace neuroshard::gpu
