#include "weights/training/compute_trainee.h"

#include <algorithm>

#include "weights/training/feature_statistics.h"

namespace neuroshard::training {
namespace {

// Rows that one thread takes at a time. Fixed, and gradients are kept per chunk, so sums have the
// same order for every number of threads. Activations of a chunk stay in L2.
constexpr std::size_t kTableChunk = 128;
constexpr std::size_t kSampleChunk = 64;
// Samples evaluated at a time, if batches are smaller: the more, the fewer tables are met twice.
constexpr std::size_t kEvaluationBatch = 4096;

std::size_t chunks(std::size_t rows, std::size_t chunk) { return (rows + chunk - 1) / chunk; }

std::vector<int> widths(int inputs, const std::vector<int>& layers) {
  std::vector<int> all{inputs};
  all.insert(all.end(), layers.begin(), layers.end());
  return all;
}

std::vector<int> head_widths(const ComputeNetworkSizes& sizes) {
  std::vector<int> all = widths(sizes.table_network.back(), sizes.head);
  all.push_back(1);
  return all;
}

std::size_t most_tables(const ComputeSamples& samples, std::size_t batch) {
  std::size_t longest = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    longest = std::max(longest, samples.offsets[s + 1] - samples.offsets[s]);
  }
  return std::min(samples.tables.size(), longest * batch);
}

}  // namespace

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples,
                               std::span<const std::uint32_t> training,
                               const ComputeNetworkSizes& sizes, const TrainingOptions& options,
                               const MatrixKernels& kernels, ThreadTeam& team, Random& random)
    : samples_(samples),
      kernels_(kernels),
      team_(team),
      table_network_(widths(kTableFeatures, sizes.table_network), true, random),
      head_(head_widths(sizes), false, random),
      table_adam_(table_network_.parameters().size()),
      head_adam_(head_.parameters().size()),
      index_(samples.tables.size()),
      batch_capacity_(
          std::min(samples.size(), std::max<std::size_t>(options.batch, kEvaluationBatch))),
      table_capacity_(most_tables(samples, batch_capacity_)),
      inputs_(table_capacity_ * table_network_.input_stride(), 0.0F),
      shard_sums_(batch_capacity_ * head_.input_stride(), 0.0F),
      shard_sum_gradients_(shard_sums_.size(), 0.0F),
      table_tape_(table_network_, table_capacity_),
      head_tape_(head_, batch_capacity_),
      table_gradients_(chunks(table_capacity_, kTableChunk),
                       AlignedVector<float>(table_network_.parameters().size(), 0.0F)),
      head_gradients_(chunks(batch_capacity_, kSampleChunk),
                      AlignedVector<float>(head_.parameters().size(), 0.0F)),
      losses_(head_gradients_.size(), 0.0) {
  FeatureStatistics costs(1);
  for (const std::uint32_t sample : training) costs.add(std::span(&samples.cost_ms[sample], 1));
  scale_ = CostScale(costs);
  cost_loss_ = CostLoss(options.loss, scale_.mean_ms);

  // As in the published code, every table counts once here, however often it was measured.
  FeatureStatistics statistics(kTableFeatures);
  for (const Table& table : samples.tables) statistics.add(table_features(table, table.dim));
  features_ = statistics.normalization();
  for (const int feature : statistics.constant_features()) {
    table_network_.disconnect_input(feature);
  }
  const std::size_t stride = table_network_.input_stride();
  table_inputs_.assign(samples.tables.size() * stride, 0.0F);
  for (std::size_t i = 0; i < samples.tables.size(); ++i) {
    normalize(features_, table_features(samples.tables[i], samples.tables[i].dim),
              &table_inputs_[i * stride]);
  }
  ComputeTrainee::remember_weights();
}

void ComputeTrainee::embed_chunk(std::size_t chunk) {
  const std::size_t first = chunk * kTableChunk;
  const std::size_t rows = std::min(kTableChunk, index_.tables().size() - first);
  const std::size_t stride = table_network_.input_stride();
  for (std::size_t i = first; i < first + rows; ++i) {
    std::copy_n(&table_inputs_[index_.tables()[i] * stride], stride, &inputs_[i * stride]);
  }
  table_network_.forward(kernels_, &inputs_[first * stride], first, rows, table_tape_);
}

// Sum of the embeddings of a sample's tables, in the order in which they are listed.
void ComputeTrainee::pool(std::size_t sample_in_batch) {
  const std::size_t stride = head_.input_stride();
  float* sum = &shard_sums_[sample_in_batch * stride];
  std::fill_n(sum, stride, 0.0F);
  for (const std::uint32_t table : index_.tables_of(sample_in_batch)) {
    const float* embedding = table_tape_.output(table);
    for (std::size_t k = 0; k < stride; ++k) sum[k] += embedding[k];
  }
}

void ComputeTrainee::score_chunk(std::size_t chunk, std::size_t batch) {
  const std::size_t first = chunk * kSampleChunk;
  const std::size_t rows = std::min(kSampleChunk, batch - first);
  for (std::size_t i = first; i < first + rows; ++i) pool(i);
  head_.forward(kernels_, &shard_sums_[first * head_.input_stride()], first, rows, head_tape_);
}

double ComputeTrainee::differentiate_chunk(std::span<const std::uint32_t> batch,
                                           std::size_t chunk) {
  const std::size_t first = chunk * kSampleChunk;
  const std::size_t rows = std::min(kSampleChunk, batch.size() - first);
  const double factor =
      2.0 * cost_loss_.gradient_scale(scale_.std_ms) / static_cast<double>(batch.size());

  double loss = 0.0;
  for (std::size_t i = first; i < first + rows; ++i) {
    const float cost_ms = samples_.cost_ms[batch[i]];
    const float error = scale_.milliseconds(*head_tape_.output(i)) - cost_ms;
    loss += cost_loss_(cost_ms, error);
    *head_tape_.output_gradient(i) =
        static_cast<float>(factor * cost_loss_.slope(cost_ms, error)) * error;
  }
  const std::size_t offset = first * head_.input_stride();
  head_.backward(kernels_, &shard_sums_[offset], first, rows, head_tape_,
                 head_gradients_[chunk].data(), &shard_sum_gradients_[offset]);
  return loss;
}

void ComputeTrainee::propagate_chunk(std::size_t chunk) {
  const std::size_t first = chunk * kTableChunk;
  const std::size_t rows = std::min(kTableChunk, index_.tables().size() - first);
  const std::size_t stride = head_.input_stride();
  for (std::size_t i = first; i < first + rows; ++i) {
    float* sum = table_tape_.output_gradient(i);
    std::fill_n(sum, stride, 0.0F);
    for (const std::uint32_t sample : index_.samples_of(i)) {
      const float* gradient = &shard_sum_gradients_[sample * stride];
      for (std::size_t k = 0; k < stride; ++k) sum[k] += gradient[k];
    }
  }
  table_network_.backward(kernels_, &inputs_[first * table_network_.input_stride()], first, rows,
                          table_tape_, table_gradients_[chunk].data(), nullptr);
}

double ComputeTrainee::differentiate(std::span<const std::uint32_t> batch) {
  index_.build(samples_, batch);
  const std::size_t table_chunks = chunks(index_.tables().size(), kTableChunk);
  const std::size_t sample_chunks = chunks(batch.size(), kSampleChunk);
  team_.run(table_chunks, [&](std::size_t chunk, std::size_t) { embed_chunk(chunk); });
  team_.run(sample_chunks, [&](std::size_t chunk, std::size_t) {
    score_chunk(chunk, batch.size());
    losses_[chunk] = differentiate_chunk(batch, chunk);
  });
  team_.run(table_chunks, [&](std::size_t chunk, std::size_t) { propagate_chunk(chunk); });
  double loss = 0.0;
  for (std::size_t chunk = 0; chunk < sample_chunks; ++chunk) loss += losses_[chunk];
  return loss / static_cast<double>(batch.size());
}

std::span<const AlignedVector<float>> ComputeTrainee::table_gradients() const {
  return std::span(table_gradients_).first(chunks(index_.tables().size(), kTableChunk));
}

std::span<const AlignedVector<float>> ComputeTrainee::head_gradients(std::size_t batch) const {
  return std::span(head_gradients_).first(chunks(batch, kSampleChunk));
}

double ComputeTrainee::step(std::span<const std::uint32_t> batch, double learning_rate) {
  const double loss = differentiate(batch);
  table_adam_.step(table_gradients(), learning_rate, table_network_.parameters());
  head_adam_.step(head_gradients(batch.size()), learning_rate, head_.parameters());
  table_network_.parameters_changed();
  head_.parameters_changed();
  return loss;
}

std::vector<float> ComputeTrainee::predict(std::span<const std::uint32_t> samples) {
  std::vector<float> cost_ms;
  cost_ms.reserve(samples.size());
  for (std::size_t first = 0; first < samples.size(); first += batch_capacity_) {
    const std::size_t count = std::min(batch_capacity_, samples.size() - first);
    index_.build(samples_, samples.subspan(first, count));
    team_.run(chunks(index_.tables().size(), kTableChunk),
              [&](std::size_t chunk, std::size_t) { embed_chunk(chunk); });
    team_.run(chunks(count, kSampleChunk),
              [&](std::size_t chunk, std::size_t) { score_chunk(chunk, count); });
    for (std::size_t i = 0; i < count; ++i)
      cost_ms.push_back(scale_.milliseconds(*head_tape_.output(i)));
  }
  return cost_ms;
}

double ComputeTrainee::mean_loss(std::span<const std::uint32_t> samples) {
  const std::vector<float> predicted = predict(samples);
  double sum = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const float cost_ms = samples_.cost_ms[samples[i]];
    const double error = static_cast<double>(predicted[i]) - cost_ms;
    sum += cost_loss_(cost_ms, error);
  }
  return sum / static_cast<double>(samples.size());
}

void ComputeTrainee::remember_weights() {
  best_table_ = table_network_.parameters();
  best_head_ = head_.parameters();
}

void ComputeTrainee::recall_weights() {
  table_network_.parameters() = best_table_;
  head_.parameters() = best_head_;
  table_network_.parameters_changed();
  head_.parameters_changed();
}

void ComputeTrainee::visit_state(const std::string& name, StateVisitor& visitor) {
  table_network_.visit_state(name + ".table_network", visitor);
  table_adam_.visit_state(name + ".table_network.adam", visitor);
  visitor.floats(name + ".table_network.best", best_table_);
  head_.visit_state(name + ".head", visitor);
  head_adam_.visit_state(name + ".head.adam", visitor);
  visitor.floats(name + ".head.best", best_head_);
}

ComputeModel ComputeTrainee::model() const {
  return {features_, table_network_.to_mlp(), head_.to_mlp(scale_.std_ms, scale_.mean_ms)};
}

}  // namespace neuroshard::training
