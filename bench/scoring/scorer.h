#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neuroshard/aligned_vector.h"
#include "neuroshard/backend.h"

namespace neuroshard::bench {

/// Input of scorers: shards of pieces whose embeddings are at hand.
struct ScoringInput {
  AlignedVector<float> embeddings;  ///< [pieces, embedding_width]
  int embedding_width = 0;
  std::vector<std::uint32_t> offsets;    ///< shards + 1
  std::vector<std::uint32_t> piece_ids;  ///< Pieces of all shards, one after the other.

  /// The first `shards` shards.
  [[nodiscard]] ShardBatch first(std::size_t shards) const {
    return {std::span(offsets).first(shards + 1), std::span(piece_ids).first(offsets[shards])};
  }
};

/// One way of computing the costs of a batch of shards. Belongs to one thread.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Not timed: what is needed once per batch, e.g. memory, or a copy on a device.
  virtual void prepare(const ShardBatch& batch) = 0;
  /// Timed. The costs are there when it returns.
  virtual void score() = 0;
  /// Not timed: the costs, one a shard, of the last call to `score`.
  virtual void read_costs(std::span<float> cost_ms) = 0;
  /// Time that the last call of `score` took on the device, by its own clock. Only of kinds that
  /// say so (timed_by_device).
  [[nodiscard]] virtual double device_seconds() const { return 0.0; }
};

/// A kind of scorer, by the name that results carry.
struct ScorerKind {
  std::string name;
  /// Promises the costs of the scalar backend to the last bit; others are allowed 1e-5.
  bool exact = false;
  /// Measured against the GPU's ceiling, not the CPU's.
  bool on_gpu = false;
  /// Inputs are in device memory before the time starts and costs stay there;
  /// Scorer::device_seconds is the time. Otherwise it is wall time, from host memory to host
  /// memory.
  bool timed_by_device = false;
  /// `input` outlives the scorer. Called once per thread, possibly at the same time.
  std::function<std::unique_ptr<Scorer>(const ScoringInput& input)> make;
};

/// The library's own: a backend's score_shards, from host memory to host memory.
[[nodiscard]] ScorerKind backend_scorer(const CostModels& models, const std::string& backend);

/// The head through OpenBLAS: a matrix product per layer over blocks that stay in the cache, one
/// pass for the ReLU; sums of embeddings by the library's own kernel. One BLAS thread per scorer.
/// Empty if nsbench was built without OpenBLAS, or if the head has other than two layers.
[[nodiscard]] std::vector<ScorerKind> openblas_scorers(const CostModels& models);

/// Configuration of OpenBLAS, which opens with its version, and the core whose kernels it chose at
/// run time; "none (...)" if nsbench was built without it.
[[nodiscard]] std::string openblas_description();

}  // namespace neuroshard::bench
