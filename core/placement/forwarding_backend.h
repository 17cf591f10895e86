#pragma once

#include "neuroshard/backend.h"

namespace neuroshard {

/// A backend that leaves everything to another one, `inner()`: for those that do some of it
/// otherwise.
class ForwardingBackend : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return inner_.name(); }
  [[nodiscard]] std::string warning() const override { return inner_.warning(); }
  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override {
    inner_.embed_pieces(features, embeddings);
  }
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override {
    inner_.score_shards(embeddings, shards, cost_ms);
  }
  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override {
    inner_.forward_comm(devices, dim_sums, start_offsets_ms, cost_ms);
  }
  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override {
    inner_.backward_comm(devices, dim_sums, cost_ms);
  }
  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override {
    return inner_.cost_runner(devices);
  }
  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override {
    return inner_.start(problem);
  }

 protected:
  /// Borrows `inner`.
  explicit ForwardingBackend(const Backend& inner) : Backend(traits_of(inner)), inner_(inner) {}

  [[nodiscard]] const Backend& inner() const { return inner_; }

 private:
  const Backend& inner_;
};

}  // namespace neuroshard
