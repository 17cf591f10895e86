#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// A candidate of a beam search: a state of the beam with one slice halved. The children of state
/// `s` have numbers from 1 + s * most_children on, of which the last ones may be no candidates; 0
/// is the first state itself, at level 0.
struct alignas(16) BeamChild {
  std::uint32_t state = 0;  ///< kNoChild: no candidate.
  std::uint32_t slice = 0;  ///< kNoSlice: the state as it is.
  std::uint32_t piece = 0;  ///< That slice's, before.
  std::uint32_t key = 0;    ///< Equal for candidates with the same pieces, and hardly for others.
};
inline constexpr std::uint32_t kNoSlice = 0xFFFFFFFFU;
inline constexpr std::uint32_t kNoChild = 0xFFFFFFFFU;

/// Candidates of one level. With more, or with more devices, a level takes much longer than its
/// launch.
inline constexpr int kMostCandidates = 4096;
/// Where a level has room for no more, equal ones are looked for: each is compared with all before.
inline constexpr int kMostCompared = 512;

/// Sizes of a beam search: what bounds its memory.
struct BeamSizes {
  int slices = 0;  ///< Slices of the state that it sets out from.
  int width = 0;
  int candidates = 0;  ///< Costliest slices tried per state, and as many largest.
  int max_splits = 0;

  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_slices() const {
    return static_cast<std::size_t>(slices) + static_cast<std::size_t>(max_splits);
  }
  /// Most children of one state.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_children() const {
    const std::size_t tried = 2 * static_cast<std::size_t>(candidates);
    return tried < most_slices() ? tried : most_slices();
  }
  /// Placed at once: the children of all states, and the first state itself.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE constexpr std::size_t most_candidates() const {
    return static_cast<std::size_t>(width) * most_children() + 1;
  }
};

/// Sizes that are enough for both.
constexpr BeamSizes enough_for(const BeamSizes& a, const BeamSizes& b) {
  const auto larger = [](int x, int y) { return x < y ? y : x; };
  return {.slices = larger(a.slices, b.slices),
          .width = larger(a.width, b.width),
          .candidates = larger(a.candidates, b.candidates),
          .max_splits = larger(a.max_splits, b.max_splits)};
}

/// Data of a level besides its states and candidates.
struct LevelHead {
  double best_ms = 0.0;  ///< Best cost of the levels before.
  std::int32_t best_limit = -1;
  std::int32_t best_splits = 0;
  std::uint32_t candidates = 0;
  std::uint32_t placed = 0;    ///< Number of these; the others have the same pieces.
  std::uint64_t examined = 0;  ///< Candidates of the levels before.
};

/// Cost of a candidate, under the best of its limits.
struct PricedChild {
  double cost_ms = 0.0;
  std::uint64_t order = 0;  ///< As the costs; kNotPriced: no candidate.
  std::int32_t limit = -1;
  std::int32_t unused = 0;
};
inline constexpr std::uint64_t kNotPriced = 0xFFFFFFFFFFFFFFFFU;

/// Offsets of everything that a beam search changes. Twice a level: the one whose candidates are
/// placed, and the next; levels take turns. Then what only the block needs that goes from one to
/// the other.
struct BeamLayout {
  std::uint32_t state_bytes = 0;  ///< width times:
  std::uint32_t by_cost = 0;      ///<   uint32[most_slices] at 0: the piece of each slice
  std::uint32_t by_size = 0;      ///<   the same twice: slices, costliest first; largest first
  std::uint32_t splits = 0;       ///<   int32[max_splits]
  std::uint32_t halved = 0;       ///<   uint32[max_splits]: pieces that were halved, ascending
  std::uint32_t children = 0;     ///< BeamChild[most_candidates]
  std::uint32_t same_as = 0;      ///< uint32[most_candidates]: first one with the same pieces
  std::uint32_t placed = 0;       ///< uint32[most_candidates]: those that are placed
  std::uint32_t head = 0;         ///< LevelHead
  std::uint32_t level_bytes = 0;
  std::uint32_t marks = 0;   ///< uint32[width, most_slices]
  std::uint32_t counts = 0;  ///< uint32[width]: children of each state
  std::uint32_t keys = 0;    ///< uint32[most_candidates, up to a multiple of 32]: BeamChild::key
  std::uint32_t priced = 0;  ///< PricedChild[most_candidates]
  std::uint32_t best_splits = 0;  ///< int32[max_splits]
  std::uint32_t total = 0;
};

constexpr BeamLayout beam_layout(const BeamSizes& sizes) {
  constexpr std::uint32_t kWord = sizeof(std::uint32_t);
  const auto aligned = [](std::uint32_t bytes) {
    return static_cast<std::uint32_t>(align_to_16(bytes));
  };
  const auto width = static_cast<std::uint32_t>(sizes.width);
  const auto candidates = static_cast<std::uint32_t>(sizes.most_candidates());
  const std::uint32_t slices = static_cast<std::uint32_t>(sizes.most_slices()) * kWord;
  const std::uint32_t splits = static_cast<std::uint32_t>(sizes.max_splits) * kWord;
  BeamLayout layout;
  layout.by_cost = slices;
  layout.by_size = 2 * slices;
  layout.splits = 3 * slices;
  layout.halved = layout.splits + splits;
  layout.state_bytes = aligned(layout.halved + splits);
  layout.children = width * layout.state_bytes;
  layout.same_as = layout.children + candidates * static_cast<std::uint32_t>(sizeof(BeamChild));
  layout.placed = layout.same_as + candidates * kWord;
  layout.head = aligned(layout.placed + candidates * kWord);
  layout.level_bytes = layout.head + static_cast<std::uint32_t>(sizeof(LevelHead));
  layout.marks = 2 * layout.level_bytes;
  layout.counts = layout.marks + width * slices;
  layout.keys = aligned(layout.counts + width * kWord);
  layout.priced = layout.keys + (candidates + 31) / 32 * 32 * kWord;
  layout.best_splits = layout.priced + candidates * static_cast<std::uint32_t>(sizeof(PricedChild));
  layout.total = aligned(layout.best_splits + splits);
  return layout;
}

/// Multiprocessors that a search tells apart; of more, several count as one.
inline constexpr int kMostMultiprocessors = 256;

/// Where a beam search stands. All zero at first. Its candidates are placed in items of as many, or
/// as many parts of them, as a block has slots; items are numbered through all levels.
struct BeamProgress {
  /// Items that may be placed, kSearchOver: there are no more; and in the upper half the level of
  /// the last of them.
  unsigned long long published = 0;
  std::uint32_t next_item = 0;  ///< Not yet taken by a block.
  std::uint32_t completed = 0;  ///< Items that have been placed.
  /// Blocks with an item, placed or still to be published, on each multiprocessor.
  std::uint32_t holders[kMostMultiprocessors] = {};
  unsigned long long head_evaluations = 0;
  unsigned long long comm_evaluations = 0;
};
inline constexpr std::uint32_t kSearchOver = 0xFFFFFFFFU;

/// Result of a beam search; the splits lie elsewhere.
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
  std::byte* memory = nullptr;  ///< BeamArgs::layout
  BeamResultView* result = nullptr;
  std::int32_t* splits = nullptr;  ///< [sizes.max_splits], of the result.
  BeamSizes sizes;
  std::uint32_t piece_count = 0;  ///< Pieces of the session.
  /// Whether the same pieces in any order make the same placements: pieces of equal cost are equal.
  bool merges = false;
  /// Index of results [shape.parts, BeamArgs::most_candidates] among those of the launch.
  std::uint32_t first_result = 0;
};

/// A desk: what a block keeps of the search in shared memory, if there is room for this and for
/// finished placements.
struct DeskLayout {
  std::uint32_t beam = 0;       ///< BeamLayout
  std::uint32_t pieces = 0;     ///< PieceView[pieces]
  std::uint32_t cost_ms = 0;    ///< float[pieces]
  std::uint32_t may_halve = 0;  ///< uint8[pieces]
  std::uint32_t orders = 0;     ///< uint32[slots, most_slices]: of its candidates.
  std::uint32_t total = 0;
};

/// Layout for the largest beam of a launch, as offsets from the desk's beginning. `beam_bytes` is
/// BeamLayout::total.
constexpr DeskLayout desk_layout(std::size_t beam_bytes, std::size_t pieces, std::size_t slots,
                                 std::size_t most_slices) {
  const auto offset = [](std::size_t bytes) {
    return static_cast<std::uint32_t>(align_to_16(bytes));
  };
  DeskLayout layout;
  layout.pieces = offset(beam_bytes);
  layout.cost_ms = offset(layout.pieces + pieces * sizeof(PieceView));
  layout.may_halve = offset(layout.cost_ms + pieces * sizeof(float));
  layout.orders = offset(layout.may_halve + pieces);
  layout.total = offset(layout.orders + slots * most_slices * sizeof(std::uint32_t));
  return layout;
}

/// Equal candidates of a level are looked for by two lanes each: so many a warp has at a time.
inline constexpr int kCandidatesOfWarp = 16;

/// Data of a block about its search, in shared memory.
struct BeamControl {
  BeamView beam;
  SessionView session;
  CandidateSlot slots[kMaxPlacementWarps];
  unsigned item;
  unsigned end_item;  ///< Behind the items of the level.
  int level;          ///< Splits of the states in the beam.
  unsigned level_done;
  unsigned multiprocessor;
  unsigned placed[kMostCandidates / kCandidatesOfWarp + 1];  ///< Bits of a level's candidates.
  unsigned unused[2];
};
static_assert(sizeof(BeamControl) % 16 == 0);
static_assert(sizeof(BeamView) % 8 == 0 && sizeof(SessionView) % 8 == 0);

/// States are counted, and their children listed, by a warp.
inline constexpr int kMaxBeamWidth = 32;

struct BeamArgs {
  const BeamView* beams = nullptr;
  unsigned count = 1;
  std::uint32_t most_items = 0;  ///< Most items of a level, in any beam of the launch.
  std::uint32_t most_slices = 0;
  std::uint32_t most_children = 0;  ///< Most children of a state.
  std::uint32_t most_candidates = 0;
  /// Layout for all of them, as large as any needs it.
  BeamLayout layout = {};
  std::uint32_t control = 0;  ///< Offset in the block's shared memory, behind that of a placement.
  DeskLayout desk = {};       ///< Nothing, if there is no room. In a launch in the block's memory.
  /// Orders of candidates, if there is no room: [count, most_items, shape.slots, most_slices]
  std::uint32_t* piece_ids = nullptr;
  /// `slots` and `piece_ids` are the blocks' own.
  PlacementArgs placement;
};

}  // namespace neuroshard::gpu
