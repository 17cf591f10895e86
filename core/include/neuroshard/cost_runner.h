#pragma once

#include <span>

namespace neuroshard {

/// The cost models for one caller that asks for a little at a time and waits for the answer, as the
/// improvement of a plan does. Keeps its scratch memory, so that calls allocate nothing. Not
/// thread-safe: make one per thread.
class CostRunner {
 public:
  virtual ~CostRunner() = default;

  /// Compute costs of shards by the sums of their embeddings: `sums` is [shards, embedding width],
  /// with one entry of `cost_ms` per shard.
  virtual void compute(std::span<const float> sums, std::span<float> cost_ms) = 0;

  /// Communication costs of one placement; spans are [devices].
  virtual void forward(std::span<const float> dim_sums, std::span<const float> start_offsets_ms,
                       std::span<float> cost_ms) = 0;
  virtual void backward(std::span<const float> dim_sums, std::span<float> cost_ms) = 0;

  /// Whether a device can be priced without the others, as symmetric networks do.
  [[nodiscard]] virtual bool symmetric() const = 0;
  /// Communication costs of single devices; symmetric() only. `features`: [rows,
  /// kSymmetricCommFeatures], not normalised, in the order of SymmetricCommNetwork.
  virtual void forward_rows(std::span<const float> features, std::span<float> cost_ms) = 0;
  virtual void backward_rows(std::span<const float> features, std::span<float> cost_ms) = 0;
};

}  // namespace neuroshard
