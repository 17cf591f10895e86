#include "bench/scoring/scorer.h"
#include "neuroshard/cuda_backend.h"

namespace neuroshard::bench {
namespace {

class BackendScorer final : public Scorer {
 public:
  BackendScorer(const Backend& backend, const ScoringInput& input)
      : backend_(backend), input_(input) {}

  void prepare(const ShardBatch& batch) override {
    batch_ = batch;
    cost_ms_.resize(batch.size());
  }
  void score() override { backend_.score_shards(input_.embeddings, batch_, cost_ms_); }
  void read_costs(std::span<float> cost_ms) override {
    std::copy(cost_ms_.begin(), cost_ms_.end(), cost_ms.begin());
  }

 private:
  const Backend& backend_;
  const ScoringInput& input_;
  ShardBatch batch_;
  std::vector<float> cost_ms_;
};

}  // namespace

ScorerKind backend_scorer(const CostModels& models, const std::string& backend) {
  const bool on_gpu = backend == kCudaBackend;
  const std::shared_ptr<const Backend> shared =
      on_gpu ? make_cuda_backend(models) : make_cpu_backend(models, {.name = backend});
  return {.name = backend, .exact = true, .on_gpu = on_gpu, .make = [shared](const auto& input) {
            return std::make_unique<BackendScorer>(*shared, input);
          }};
}

}  // namespace neuroshard::bench
