#pragma once

#include <cstddef>
#include <cstdint>

#include "core/placement/annealing_rules.h"
#include "cuda/networks/comm_layout.h"
#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// What annealing knows of a piece.
struct ChainPiece {
  std::int64_t size_bytes = 0;
  std::int64_t lookups = 0;
  std::int32_t dim = 0;
  std::uint32_t may_halve = 0;
};

/// AnnealingProblem, in device memory.
struct AnnealingView {
  const ChainPiece* pieces = nullptr;
  const float* embeddings = nullptr;           ///< [pieces, embedding width]
  const std::uint32_t* whole = nullptr;        ///< [tables]
  const std::uint32_t* most_slices = nullptr;  ///< [tables]
  /// [tables + 1]: where the slices of a table are listed among those of a chain.
  const std::uint32_t* table_lists = nullptr;
  std::int64_t room_bytes = 0;
  std::int32_t devices = 0;
  std::int32_t tables = 0;
  float log2_devices = 0.0F;
  std::uint32_t equal_widths = 0;
  std::uint32_t prices_ids = 0;
  std::uint32_t unused = 0;
  CommView comm;
};

/// PlacedSlice, as inputs and outputs have it.
struct alignas(8) ChainPlace {
  std::uint16_t piece = 0;
  std::uint16_t table = 0;
  std::uint16_t device = 0;
  std::uint16_t unused = 0;
};

/// A slice of the plan that a chain changes, and where it is listed.
struct ChainSlice {
  std::uint16_t piece;
  std::uint16_t table;
  std::uint16_t device;
  std::uint16_t on_device;
  std::uint16_t of_table;
};

/// An edit of a plan, as search/improvement/plan_edit.h has it, and what it makes of its devices.
struct ChainEdit {
  std::uint32_t devices[2];
  std::int32_t removed_count;
  std::int32_t added_count;
  std::int64_t memory[2];
  std::int64_t lookups[2];
  std::int32_t dim_sum[2];
  std::uint32_t empty[2];
  std::uint16_t removed[annealing::kMostRemoved];
  ChainPlace added[annealing::kMostAdded];
};

struct ChainResultView {
  double cost_ms = 0.0;
  std::uint64_t edits = 0;
  std::uint64_t head_evaluations = 0;
  std::uint64_t comm_evaluations = 0;
  std::uint32_t slices = 0;
  /// 0: the plan had more slices than there is room for, and the chain is to be run elsewhere.
  std::uint32_t complete = 0;
};

/// What bounds the memory of a chain.
struct ChainSizes {
  int devices = 1;
  int width = 0;       ///< Floats of an embedding.
  int slices = 0;      ///< That a plan may have.
  int on_device = 0;   ///< That a device may have.
  int tile_width = 0;  ///< Of all networks.
};

/// One chain. What blocks write of it, but the results, is scratch.
struct ChainView {
  const AnnealingView* problem = nullptr;
  const ChainPlace* start = nullptr;
  std::uint16_t* on_devices = nullptr;  ///< [devices, ChainSizes::on_device]: slices of each.
  std::uint16_t* of_tables = nullptr;   ///< Slices of each table, as AnnealingView::table_lists.
  std::uint16_t* of_counts = nullptr;   ///< [tables]
  ChainPlace* best = nullptr;           ///< [ChainSizes::slices]
  ChainResultView* result = nullptr;
  std::uint64_t steps = 0;
  std::uint64_t stream = 0;
  double hottest = 0.0;
  double cooling = 0.0;
  double soft_steps = 0.0;
  std::uint32_t slices = 0;  ///< Of the start.
  std::uint32_t joins_halves = 0;
  std::uint32_t soften_ids = 0;
  std::uint32_t unused = 0;
  ChainSizes sizes;
};

/// Rows of the tile of a chain's communication networks.
inline constexpr int kChainTileRows = 8;
static_assert(annealing::kMostRows <= kChainTileRows);

/// Costs that a chain remembers: dim sums and numbers of ids recur.
inline constexpr unsigned kRememberedColumns = 128;
inline constexpr unsigned kRememberedIds = 64;

/// Offsets of everything in the shared memory of a chain's block.
struct ChainLayout {
  std::size_t total_ms = 0;    ///< double[devices]
  std::size_t memory = 0;      ///< int64[devices]
  std::size_t lookups = 0;     ///< int64[devices]
  std::size_t edit = 0;        ///< ChainEdit
  std::size_t ids = 0;         ///< {int64 columns, double ms}[kRememberedIds]
  std::size_t remembered = 0;  ///< {columns, most, fewest, ms}[kRememberedColumns]
  std::size_t sums = 0;        ///< float[devices, width]
  std::size_t floats = 0;      ///< float[kArrays, devices]
  std::size_t dim_sums = 0;    ///< int32[devices]
  std::size_t on_counts = 0;   ///< uint32[devices]
  std::size_t slices = 0;      ///< ChainSlice[slices]
  std::size_t tile = 0;        ///< float[2, kChainTileRows, tile_stride()]
  std::size_t total = 0;

  static constexpr int kArrays = 9;
};

NEUROSHARD_HOST_DEVICE constexpr ChainLayout chain_layout(const ChainSizes& sizes) {
  const auto devices = static_cast<std::size_t>(sizes.devices);
  const auto width = static_cast<std::size_t>(sizes.width);
  ChainLayout layout;
  layout.memory = align_to_16(devices * sizeof(double));
  layout.lookups = layout.memory + align_to_16(devices * sizeof(std::int64_t));
  layout.edit = layout.lookups + align_to_16(devices * sizeof(std::int64_t));
  layout.ids = layout.edit + align_to_16(sizeof(ChainEdit));
  layout.remembered = layout.ids + std::size_t{16} * kRememberedIds;
  layout.sums = layout.remembered + std::size_t{16} * kRememberedColumns;
  layout.floats = layout.sums + align_to_16(devices * width * sizeof(float));
  layout.dim_sums = layout.floats + align_to_16(ChainLayout::kArrays * devices * sizeof(float));
  layout.on_counts = layout.dim_sums + align_to_16(devices * sizeof(std::int32_t));
  layout.slices = layout.on_counts + align_to_16(devices * sizeof(std::uint32_t));
  layout.tile =
      layout.slices + align_to_16(static_cast<std::size_t>(sizes.slices) * sizeof(ChainSlice));
  layout.total = layout.tile + align_to_16(2 * sizeof(float) * kChainTileRows *
                                           static_cast<std::size_t>(tile_stride(sizes.tile_width)));
  return layout;
}

struct ChainArgs {
  const ChainView* chains = nullptr;
  MlpView head;
  float empty_ms = 0.0F;         ///< head(0)
  int width = 0;                 ///< Floats of an embedding.
  std::size_t shared_bytes = 0;  ///< Of a block: as much as any chain needs.
};

}  // namespace neuroshard::gpu
