#include <cblas.h>

#include <algorithm>

#include "bench/scoring/scorer.h"
#include "core/kernels/cpu_kernels.h"
#include "neuroshard/aligned_vector.h"

namespace neuroshard::bench {
namespace {

// Rows per matrix product: activations of 1,024 x 64 floats stay in the L2 cache.
constexpr std::size_t kBlockRows = 1024;

class OpenblasScorer final : public Scorer {
 public:
  OpenblasScorer(const Mlp& head, const ScoringInput& input)
      : input_(input),
        kernels_(select_cpu_kernels("auto")),
        hidden_(head.layers[0]),
        output_(head.layers[1]),
        sums_(kBlockRows * static_cast<std::size_t>(input.embedding_width)),
        activations_(kBlockRows * static_cast<std::size_t>(hidden_.outputs)) {
    openblas_set_num_threads(1);
  }

  void prepare(const ShardBatch& batch) override {
    batch_ = batch;
    cost_ms_.resize(batch.size());
  }

  void score() override {
    for (std::size_t first = 0; first < batch_.size(); first += kBlockRows) {
      score_block(first, std::min(kBlockRows, batch_.size() - first));
    }
  }

  void read_costs(std::span<float> cost_ms) override {
    std::copy(cost_ms_.begin(), cost_ms_.end(), cost_ms.begin());
  }

 private:
  void score_block(std::size_t first, std::size_t rows) {
    const int width = input_.embedding_width;
    const int units = hidden_.outputs;
    kernels_.sum_embeddings(input_.embeddings.data(), width, batch_.offsets.data() + first,
                            batch_.piece_ids.data(), static_cast<int>(rows), sums_.data());
    // The biases are what the product is added to.
    for (std::size_t row = 0; row < rows; ++row) {
      std::copy(hidden_.bias.begin(), hidden_.bias.end(),
                activations_.begin() + static_cast<std::ptrdiff_t>(row) * units);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(rows), units,
                hidden_.inputs, 1.0F, sums_.data(), width, hidden_.weight.data(), hidden_.inputs,
                1.0F, activations_.data(), units);
    const std::size_t active = rows * static_cast<std::size_t>(units);
    for (std::size_t i = 0; i < active; ++i) {
      activations_[i] = activations_[i] > 0.0F ? activations_[i] : 0.0F;
    }
    std::fill_n(cost_ms_.begin() + static_cast<std::ptrdiff_t>(first), rows, output_.bias[0]);
    cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<int>(rows), units, 1.0F,
                activations_.data(), units, output_.weight.data(), 1, 1.0F, cost_ms_.data() + first,
                1);
  }

  const ScoringInput& input_;
  const CpuKernels& kernels_;
  DenseLayer hidden_;
  DenseLayer output_;
  AlignedVector<float> sums_;
  AlignedVector<float> activations_;
  ShardBatch batch_;
  std::vector<float> cost_ms_;
};

}  // namespace

std::vector<ScorerKind> openblas_scorers(const CostModels& models) {
  const Mlp& head = models.compute.head;
  if (head.layers.size() != 2) return {};
  return {{.name = "openblas", .exact = false, .on_gpu = false, .make = [head](const auto& input) {
             return std::make_unique<OpenblasScorer>(head, input);
           }}};
}

std::string openblas_description() {
  return std::string(openblas_get_config()) + " (core " + openblas_get_corename() + ")";
}

}  // namespace neuroshard::bench
