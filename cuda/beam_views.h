#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/placement_views.h"

namespace neuroshard::gpu {

/// A candidate of a beam search: a state of the beam with one slice halved.
struct alignas(16) BeamChild {
  std::uint32_t state = 0;
  std::uint32_t slice = 0;  ///< kNoSlice: the state as it is.
  std::uint32_t piece = 0;  ///< That slice's, before.
  std::uint32_t key = 0;    ///< Equal for candidates with the same pieces, and hardly for others.
};
inline constexpr std::uint32_t kNoSlice = 0xFFFFFFFFU;

/// A candidate that is placed. Others have the same pieces as one of these.
struct PlacedChild {
  std::uint32_t state = 0;
  std::uint32_t slice = 0;
  std::uint32_t candidate = 0;
  std::uint32_t unused = 0;
};

/// Candidates of a level among which equal ones are looked for: each is compared with all before.
inline constexpr int kMostCompared = 256;

/// Sizes of a beam search: what bounds its memory.
struct BeamSizes {
  int slices = 0;  ///< Of the state that it sets out from.
  int width = 0;
  int candidates = 0;  ///< Costliest slices tried per state, and as many largest.
  int max_splits = 0;

  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_slices() const {
    return static_cast<std::size_t>(slices) + static_cast<std::size_t>(max_splits);
  }
  /// Of one state.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_children() const {
    const std::size_t tried = 2 * static_cast<std::size_t>(candidates);
    return tried < most_slices() ? tried : most_slices();
  }
  /// Placed at once: the children of all states, and the first state itself.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_candidates() const {
    return static_cast<std::size_t>(width) * most_children() + 1;
  }
};

/// Offsets of everything that a beam search changes, in device memory.
struct BeamLayout {
  std::size_t states = 0;       ///< Twice width times: the beam, and the one that comes after it.
  std::size_t state_bytes = 0;  ///<   uint32[most_slices] at 0: the piece of each slice
  std::size_t by_cost = 0;      ///<   the same: slices, costliest first
  std::size_t by_size = 0;      ///<   the same: slices, largest first
  std::size_t splits = 0;       ///<   int32[max_splits]
  std::size_t halved = 0;       ///<   uint32[max_splits]: pieces that were halved, ascending
  std::size_t marks = 0;        ///< uint32[width, most_slices]
  std::size_t counts = 0;       ///< uint32[width] of `tried`
  std::size_t chosen = 0;       ///< uint32[width]: children that the next beam consists of
  std::size_t same_as = 0;      ///< uint32[most_candidates]: first one with the same pieces
  std::size_t tried = 0;        ///< BeamChild[width, most_children]
  std::size_t children = 0;     ///< BeamChild[most_candidates]
  std::size_t placed = 0;       ///< PlacedChild[most_candidates]
  std::size_t results = 0;      ///< ResultView[most_candidates]: the best of all parts
  std::size_t best_splits = 0;  ///< int32[max_splits]
  std::size_t total = 0;
};

NEUROSHARD_HOST_DEVICE constexpr BeamLayout beam_layout(const BeamSizes& sizes) {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  const auto width = static_cast<std::size_t>(sizes.width);
  const std::size_t slices = sizes.most_slices() * kWord;
  const std::size_t splits = static_cast<std::size_t>(sizes.max_splits) * kWord;
  const auto aligned = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  BeamLayout layout;
  layout.by_cost = slices;
  layout.by_size = 2 * slices;
  layout.splits = 3 * slices;
  layout.halved = layout.splits + splits;
  layout.state_bytes = aligned(layout.halved + splits);
  layout.marks = 2 * width * layout.state_bytes;
  layout.counts = layout.marks + width * slices;
  layout.chosen = layout.counts + width * kWord;
  layout.same_as = layout.chosen + width * kWord;
  layout.tried = aligned(layout.same_as + sizes.most_candidates() * kWord);
  layout.children = layout.tried + width * sizes.most_children() * sizeof(BeamChild);
  layout.placed = layout.children + sizes.most_candidates() * sizeof(BeamChild);
  layout.results = layout.placed + sizes.most_candidates() * sizeof(PlacedChild);
  layout.best_splits = layout.results + sizes.most_candidates() * sizeof(ResultView);
  layout.total = aligned(layout.best_splits + splits);
  return layout;
}

/// Multiprocessors that a search tells apart; of more, several count as one.
inline constexpr int kMostMultiprocessors = 256;

/// Where a beam search stands. All zero at first. Its candidates are placed in items of as many, or
/// as many parts of them, as a block has slots; items are numbered through all levels.
struct BeamProgress {
  std::uint32_t next_item = 0;  ///< Not yet taken by a block.
  std::uint32_t published = 0;  ///< Items that may be placed; kSearchOver: there are no more.
  std::uint32_t completed = 0;  ///< Items that have been placed.
  /// Blocks with an item, placed or still to be published, on each multiprocessor.
  std::uint32_t holders[kMostMultiprocessors] = {};
  // The rest is changed while all published items are completed.
  std::uint32_t first_item = 0;  ///< Of the current level.
  std::uint32_t end_item = 0;    ///< As `published`.
  std::int32_t level = 0;        ///< Splits of the states in the beam.
  std::int32_t candidates = 0;   ///< Of the level.
  std::int32_t placed = 0;       ///< Of these; the others have the same pieces.
  std::int32_t best_limit = -1;
  double best_ms = 0.0;
  std::int32_t best_splits = 0;
  std::int32_t states = 0;  ///< Of the next beam.
  std::uint64_t examined = 0;
  std::uint64_t head_evaluations = 0;
  std::uint64_t comm_evaluations = 0;
};
inline constexpr std::uint32_t kSearchOver = 0xFFFFFFFFU;

/// What comes of a beam search; the splits lie elsewhere.
struct BeamResultView {
  double cost_ms = 0.0;
  std::int32_t limit = -1;
  std::int32_t splits = 0;
  std::uint64_t candidates = 0;
  std::uint64_t head_evaluations = 0;
  std::uint64_t comm_evaluations = 0;
};

/// One beam search, in device memory.
struct BeamView {
  const SessionView* session = nullptr;
  const float* piece_cost_ms = nullptr;
  const std::uint8_t* may_halve = nullptr;
  /// [3, sizes.slices]: pieces, slices by cost, slices by size of the first state.
  const std::uint32_t* start = nullptr;
  BeamProgress* progress = nullptr;
  std::byte* memory = nullptr;  ///< BeamLayout
  BeamResultView* result = nullptr;
  std::int32_t* splits = nullptr;  ///< [sizes.max_splits], of the result.
  BeamSizes sizes;
  /// Whether the same pieces in any order make the same placements: pieces of equal cost are equal.
  bool merges = false;
  /// Of [shape.parts, sizes.most_candidates()] among those of the launch.
  std::uint32_t first_result = 0;
};

/// States are counted, and their children listed, by a warp.
inline constexpr int kMaxBeamWidth = 32;

struct BeamArgs {
  const BeamView* beams = nullptr;
  unsigned count = 1;
  std::uint32_t most_items = 0;  ///< Of a level; of any beam of the launch.
  std::uint32_t most_slices = 0;
  /// Of `placement`, which has those of [count, most_items] blocks. They fill these in themselves:
  CandidateSlot* slots = nullptr;
  std::uint32_t* piece_ids = nullptr;  ///< [count, most_items, shape.slots, most_slices]
  PlacementArgs placement;
};

}  // namespace neuroshard::gpu
