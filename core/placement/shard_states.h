#pragma once

#include <cstdint>
#include <vector>

#include "core/models/mlp_runner.h"
#include "core/models/packed_models.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// Every shard that the placements of a task have made so far, each scored once. A shard is known
/// by the sequence in which pieces were put on a device: "state 17, then piece 5" is one other
/// state. A sequence gives the same sum to the last bit each time, so remembering changes nothing.
class ShardStates {
 public:
  using Id = std::uint32_t;
  static constexpr Id kEmpty = 0;

  struct Next {
    Id state;
    float cost_ms;  ///< Compute cost of that state.
  };

  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;

  /// Borrows everything. `most_bytes`: meant for states; the owner keeps to it (has_room_for()).
  ShardStates(const CpuKernels& kernels, const PackedComputeModel& model,
              const PlacementProblem& problem, std::size_t most_bytes = kMostBytes);

  /// The state after `piece` joins `state`.
  Next add(Id state, std::uint32_t piece) {
    Id& first = state == kEmpty ? first_by_piece_[piece] : nodes_[state].first_child;
    Id previous = kNone;
    for (Id child = first; child != kNone; previous = child, child = nodes_[child].next) {
      Node& node = nodes_[child];
      if (node.piece != piece) continue;
      if (previous != kNone) {
        nodes_[previous].next = node.next;
        node.next = first;
        first = child;
      }
      return {child, node.cost_ms};
    }
    return score_new(state, piece);
  }

  /// Fetches what add() will read of `state`.
  void prefetch(Id state) const {
    __builtin_prefetch(&nodes_[nodes_[state].first_child]);
    const float* sum = sums_.data() + std::size_t{state} * static_cast<std::size_t>(width_);
    __builtin_prefetch(sum);
    __builtin_prefetch(sum + width_ / 2);
  }

  /// States so far, each scored once; the empty one among them.
  [[nodiscard]] std::size_t size() const { return states_; }
  /// False if `more` states would exceed the memory that is meant for them.
  [[nodiscard]] bool has_room_for(std::size_t more) const { return states_ + more < most_states_; }
  /// Memory held, used or not.
  [[nodiscard]] std::size_t held_bytes() const;
  /// Forgets all states but the empty one, because there are too many or the problem has changed;
  /// keeps the memory.
  void clear();

 private:
  // Children of a state form a list, the one asked for last in front: a run mostly takes the way of
  // the run before it, so that the first child is mostly the right one. States that are created
  // together lie together, which a hash table would scatter over the cache.
  static constexpr Id kNone = 0;  ///< The empty state is nobody's child.
  struct Node {
    std::uint32_t piece;  ///< The last one that joined.
    float cost_ms;
    Id first_child;
    Id next;  ///< Child of the same state.
  };
  Next score_new(Id from, std::uint32_t piece);
  void make_room();

  const CpuKernels& kernels_;
  const PlacementProblem& problem_;
  int width_;
  MlpRunner head_;
  bool two_layer_head_;
  PackedLayerView hidden_;
  PackedLayerView output_;
  std::size_t most_states_;
  std::size_t states_ = 1;
  AlignedVector<float> sums_;       ///< [states, width]
  std::vector<Node> nodes_;         ///< Node of each state.
  std::vector<Id> first_by_piece_;  ///< Children of the empty state, a list of one for each piece.
};

}  // namespace neuroshard
