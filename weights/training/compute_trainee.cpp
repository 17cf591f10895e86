#include "weights/training/compute_trainee.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weights/training/feature_statistics.h"
#include "weights/training/start_scale.h"

namespace neuroshard::training {
namespace {

// Rows that one thread takes at a time. Fixed, and gradients are kept per chunk, so sums have the
// same order for every number of threads. Activations of a chunk stay in L2.
constexpr std::size_t kTableChunk = 128;
constexpr std::size_t kSampleChunk = 64;
// Samples evaluated at a time, if batches are smaller: the more, the fewer tables are met twice.
constexpr std::size_t kEvaluationBatch = 512;

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

std::size_t most_tables(const ComputeSamples& samples, std::size_t pieces, std::size_t batch) {
  std::size_t longest = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    longest = std::max(longest, samples.offsets[s + 1] - samples.offsets[s]);
  }
  return std::min(pieces, longest * batch);
}

}  // namespace

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples,
                               std::span<const std::uint32_t> training,
                               const ComputeNetworkSizes& sizes, const TrainingOptions& options,
                               const MatrixKernels& kernels, ThreadTeam& team, Random& random)
    : ComputeTrainee(samples, operator_pieces(samples, sizes.table_features), training, sizes,
                     options, kernels, team, random) {}

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples,
                               std::span<const std::uint32_t> training, const ComputeModel& start,
                               const TrainingOptions& options, const MatrixKernels& kernels,
                               ThreadTeam& team, Trained trained)
    : ComputeTrainee(samples, operator_pieces(samples, start.table_network.inputs()), training,
                     start, options, kernels, team, trained) {}

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces,
                               std::span<const std::uint32_t> training,
                               const ComputeNetworkSizes& sizes, const TrainingOptions& options,
                               const MatrixKernels& kernels, ThreadTeam& team, Random& random)
    : ComputeTrainee(samples, pieces,
                     Networks{{widths(sizes.table_features, sizes.table_network), true, random},
                              {head_widths(sizes), false, random}},
                     options, kernels, team) {
  if (sizes.table_features == kOperatorFeatures) {
    scale_by_time(pieces, training);
  } else {
    scale_as_published(pieces, training);
  }
  cost_loss_ = CostLoss(options.loss, typical_ms_);
  normalize_inputs(pieces);
  remember_weights();
}

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces,
                               std::span<const std::uint32_t> training, const ComputeModel& start,
                               const TrainingOptions& options, const MatrixKernels& kernels,
                               ThreadTeam& team, Trained trained)
    : ComputeTrainee(
          samples, pieces,
          Networks{{start.table_network, true}, {start.head, false, natural_scale(start.head)}},
          options, kernels, team) {
  features_ = start.features;
  normalize_inputs(pieces);
  scale_.std_ms = natural_scale(start.head);
  std::vector<float> measured_ms;
  for (const std::uint32_t sample : training) measured_ms.push_back(samples.cost_ms[sample]);
  scale_.std_ms *= fitted_factor(measured_ms, predict(training));
  typical_ms_ = geometric_mean(measured_ms);
  cost_loss_ = CostLoss(options.loss, typical_ms_);
  if (trained == Trained::kGains) {
    networks_[0].gains.emplace(table_network_, false);
    networks_[1].gains.emplace(head_, true);
  }
  remember_weights();
}

ComputeTrainee::ComputeTrainee(const ComputeSamples& samples, const OperatorPieces& pieces,
                               Networks networks, const TrainingOptions& options,
                               const MatrixKernels& kernels, ThreadTeam& team)
    : CpuTrainee({{"table_network", std::move(networks.table_network)},
                  {"head", std::move(networks.head)}}),
      samples_(samples),
      piece_ids_(pieces.ids),
      kernels_(kernels),
      team_(team),
      table_network_(networks_[0].mlp),
      head_(networks_[1].mlp),
      index_(pieces.size()),
      batch_capacity_(
          std::min(samples.size(), std::max<std::size_t>(options.batch, kEvaluationBatch))),
      table_capacity_(most_tables(samples, pieces.size(), batch_capacity_)),
      inputs_(table_capacity_ * table_network_.input_stride(), 0.0F),
      shard_sums_(batch_capacity_ * head_.input_stride(), 0.0F),
      shard_sum_gradients_(shard_sums_.size(), 0.0F),
      table_tape_(table_network_, table_capacity_),
      head_tape_(head_, batch_capacity_),
      losses_(chunks(batch_capacity_, kSampleChunk), 0.0) {}

void ComputeTrainee::normalize_inputs(const OperatorPieces& pieces) {
  const std::size_t stride = table_network_.input_stride();
  table_inputs_.assign(pieces.size() * stride, 0.0F);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    normalize(features_, pieces.features_of(i), &table_inputs_[i * stride]);
  }
}

void ComputeTrainee::scale_as_published(const OperatorPieces& pieces,
                                        std::span<const std::uint32_t> training) {
  FeatureStatistics costs(1);
  for (const std::uint32_t sample : training) costs.add(std::span(&samples_.cost_ms[sample], 1));
  scale_ = CostScale(costs);
  typical_ms_ = scale_.mean_ms;

  // As in the published code, every table counts once here, however often it was measured.
  FeatureStatistics statistics(static_cast<int>(pieces.count));
  for (std::size_t i = 0; i < pieces.size(); ++i) statistics.add(pieces.features_of(i));
  features_ = statistics.normalization();
  for (const int feature : statistics.constant_features()) {
    table_network_.disconnect_input(feature);
  }
}

void ComputeTrainee::scale_by_time(const OperatorPieces& pieces,
                                   std::span<const std::uint32_t> training) {
  const std::size_t count = pieces.count;
  const auto time_of = [&](std::size_t piece) {
    return std::max<double>(pieces.features_of(piece).front(), 1e-12);
  };
  std::vector<double> squares(count, 0.0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const double time = time_of(i);
    const auto features = pieces.features_of(i);
    for (std::size_t f = 0; f < count; ++f) {
      squares[f] += features[f] / time * (features[f] / time);
    }
  }
  features_.mean.assign(count, 0.0F);
  features_.std.assign(count, 1.0F);
  for (std::size_t f = 0; f < count; ++f) {
    const double root = std::sqrt(squares[f] / static_cast<double>(pieces.size()));
    if (root > 1e-6) {
      features_.std[f] = static_cast<float>(root);
    } else {
      table_network_.disconnect_input(static_cast<int>(f));
    }
  }
  // Without biases embeddings are in proportion to the work however small it is.
  table_network_.leave_out_biases();

  double log_cost = 0.0;
  double log_rate = 0.0;
  float least_ms = samples_.cost_ms[training.front()];
  for (const std::uint32_t sample : training) {
    const float cost_ms = samples_.cost_ms[sample];
    least_ms = std::min(least_ms, cost_ms);
    double time = 0.0;
    for (std::size_t i = samples_.offsets[sample]; i < samples_.offsets[sample + 1]; ++i) {
      time += time_of(piece_ids_[i]);
    }
    log_cost += std::log(std::max(cost_ms, 1e-6F));
    log_rate += std::log(std::max(cost_ms, 1e-6F) / std::max(time, 1.0));
  }
  const auto samples = static_cast<double>(training.size());
  typical_ms_ = static_cast<float>(std::exp(log_cost / samples));
  scale_.mean_ms = least_ms;
  scale_.std_ms = static_cast<float>(std::exp(log_rate / samples));
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
                 networks_[1].gradients[chunk].data(), &shard_sum_gradients_[offset]);
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
                          table_tape_, networks_[0].gradients[chunk].data(), nullptr);
}

double ComputeTrainee::differentiate(std::span<const std::uint32_t> batch) {
  index_.build(samples_, piece_ids_, batch);
  const std::size_t table_chunks = chunks(index_.tables().size(), kTableChunk);
  const std::size_t sample_chunks = chunks(batch.size(), kSampleChunk);
  networks_[0].begin_gradients(table_chunks);
  networks_[1].begin_gradients(sample_chunks);
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

std::vector<float> ComputeTrainee::predict(std::span<const std::uint32_t> samples) {
  std::vector<float> cost_ms;
  cost_ms.reserve(samples.size());
  for (std::size_t first = 0; first < samples.size(); first += batch_capacity_) {
    const std::size_t count = std::min(batch_capacity_, samples.size() - first);
    index_.build(samples_, piece_ids_, samples.subspan(first, count));
    team_.run(chunks(index_.tables().size(), kTableChunk),
              [&](std::size_t chunk, std::size_t) { embed_chunk(chunk); });
    team_.run(chunks(count, kSampleChunk),
              [&](std::size_t chunk, std::size_t) { score_chunk(chunk, count); });
    for (std::size_t i = 0; i < count; ++i)
      cost_ms.push_back(scale_.milliseconds(*head_tape_.output(i)));
  }
  return cost_ms;
}

TraineeData ComputeTrainee::data() const {
  return {.inputs = {table_inputs_.begin(), table_inputs_.end()},
          .row_ids = piece_ids_,
          .offsets = samples_.offsets,
          .costs_ms = samples_.cost_ms};
}

ComputeModel ComputeTrainee::model() const {
  return {features_, table_network_.to_mlp(), head_.to_mlp(scale_.std_ms, scale_.mean_ms)};
}

}  // namespace neuroshard::training
