#include "neuroshard/evaluation.h"

#include <utility>

#include "neuroshard/cost_models.h"
#include "weights/training/operator_pieces.h"

namespace neuroshard {

TestResult evaluate_compute(const Backend& backend, const ComputeSamples& samples) {
  const training::OperatorPieces pieces =
      training::operator_pieces(samples, backend.table_features());
  std::vector<float> embeddings(pieces.size() *
                                static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(pieces.features, embeddings);
  const std::vector<std::uint32_t> offsets(samples.offsets.begin(), samples.offsets.end());
  std::vector<float> predicted_ms(samples.size());
  backend.score_shards(embeddings, {offsets, pieces.ids}, predicted_ms);
  return test_result(0, samples.cost_ms, std::move(predicted_ms));
}

CommTestResult evaluate_comm(const Backend& backend, const CommSamples& samples) {
  const std::vector<float> dim_sums(samples.dim_sums.begin(), samples.dim_sums.end());
  std::vector<float> forward_ms(dim_sums.size());
  std::vector<float> backward_ms(dim_sums.size());
  backend.forward_comm(samples.devices, dim_sums, samples.start_offsets_ms, forward_ms);
  backend.backward_comm(samples.devices, dim_sums, backward_ms);
  return {test_result(samples.devices, samples.forward_ms, std::move(forward_ms)),
          test_result(samples.devices, samples.backward_ms, std::move(backward_ms))};
}

}  // namespace neuroshard
