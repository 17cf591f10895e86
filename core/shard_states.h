#pragma once

#include <cstdint>
#include <vector>

#include "core/aligned_vector.h"
#include "core/mlp_forward.h"
#include "core/packed_models.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// Every shard that the placements of a task have made so far, each scored once. A shard is known
/// by the sequence in which pieces were put on a device: "state 17, then piece 5" is one other
/// state. The same sequence gives the same sum to the last bit, so remembering changes nothing.
class ShardStates {
 public:
  using Id = std::uint32_t;
  static constexpr Id kEmpty = 0;

  struct Next {
    Id state;
    float cost_ms;  ///< Compute cost of that state.
  };

  /// Borrows everything.
  ShardStates(const CpuKernels& kernels, const PackedComputeModel& model,
              const PlacementProblem& problem);

  /// The state after `piece` joins `state`.
  Next add(Id state, std::uint32_t piece) {
    const std::uint64_t key = (std::uint64_t{state} << 32) | piece;
    for (std::size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      const Entry& entry = entries_[slot];
      if (entry.key == key) return {entry.state, entry.cost_ms};
      if (entry.key == kFree) return score_new(key, slot);
    }
  }

  /// States so far, each scored once; the empty one among them.
  [[nodiscard]] std::size_t size() const { return states_; }
  /// Forgets all states but the empty one, because there are too many or the problem has changed;
  /// keeps the memory.
  void clear();

 private:
  struct Entry {
    std::uint64_t key;
    Id state;
    float cost_ms;
  };
  // No state reaches 2^32 - 1, so no key is all ones.
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};

  // Fibonacci hashing: the high bits of the product are the well-mixed ones.
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15U) >> shift_);
  }
  Next score_new(std::uint64_t key, std::size_t slot);
  void grow();

  const CpuKernels& kernels_;
  const PlacementProblem& problem_;
  int width_;
  MlpRunner head_;
  bool two_layer_head_;
  LayerView hidden_;
  LayerView output_;
  std::size_t states_ = 1;
  AlignedVector<float> sums_;  ///< [states, width]
  // A hash table with linear probing in the first mask_ + 1 entries, at most half full. Both
  // arrays keep the size of the largest table so far, so that a small problem clears little.
  std::vector<Entry> entries_;
  std::vector<Entry> spare_;
  std::size_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace neuroshard
