#include "weights/training/comm_trainee.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/count_up.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/start_scale.h"

namespace neuroshard::training {
namespace {

// A chunk is full at this many rows; the last sample may take it beyond. Chunks do not depend on
// the number of threads, and gradients are kept per chunk, so sums always have the same order.
constexpr std::size_t kChunkRows = 128;

// Share of the mean cost: no cost below this share counts more.
constexpr double kLeastCostShare = 1e-3;

std::vector<int> widths(const CommRows& rows, std::span<const int> hidden) {
  std::vector<int> all{rows.inputs()};
  all.insert(all.end(), hidden.begin(), hidden.end());
  all.push_back(rows.outputs());
  return all;
}

std::size_t most_rows(const CommRows& rows) {
  std::size_t most = 1;
  for (std::size_t set = 0; set < rows.sets(); ++set) {
    if (rows.first_of_set(set) < rows.samples()) {
      most = std::max(most, rows.rows(static_cast<std::uint32_t>(rows.first_of_set(set))));
    }
  }
  return most;
}

}  // namespace

CommTrainee::CommTrainee(const CommRows& rows, std::span<const std::uint32_t> training,
                         std::span<const int> hidden, TrainingLoss loss,
                         const MatrixKernels& kernels, ThreadTeam& team, Random& random)
    : CommTrainee(rows, TrainableMlp(widths(rows, hidden), false, random), loss, kernels, team) {
  const std::vector<double> importances = this->importances();
  measure_features(importances);
  measure_costs(training, importances);
  remember_weights();
}

CommTrainee::CommTrainee(const CommRows& rows, std::span<const std::uint32_t> training,
                         const SymmetricCommNetwork& start, TrainingLoss loss,
                         const MatrixKernels& kernels, ThreadTeam& team)
    : CommTrainee(rows, TrainableMlp(start.network, false, natural_scale(start.network)), loss,
                  kernels, team) {
  measure_costs(training, importances());  // The loss compares small costs with their mean.
  features_ = start.features;
  scale_ = CostScale();
  scale_.std_ms = natural_scale(start.network);
  std::vector<float> measured_ms;
  for (const std::uint32_t sample : training) {
    const std::span<const float> costs = rows.targets(sample);
    measured_ms.insert(measured_ms.end(), costs.begin(), costs.end());
  }
  scale_.std_ms *= fitted_factor(measured_ms, predict(training));
  networks_[0].gains.emplace(network_, true);
  remember_weights();
}

CommTrainee::CommTrainee(const CommRows& rows, TrainableMlp network, TrainingLoss loss,
                         const MatrixKernels& kernels, ThreadTeam& team)
    : CpuTrainee({{"network", std::move(network)}}),
      rows_(rows),
      kernels_(kernels),
      team_(team),
      loss_(loss),
      network_(networks_[0].mlp) {
  const std::size_t chunk_rows = kChunkRows - 1 + most_rows(rows);
  for (std::size_t thread = 0; thread < team.threads(); ++thread) {
    scratch_.push_back({AlignedVector<float>(chunk_rows * network_.input_stride(), 0.0F),
                        TrainableMlp::Tape(network_, chunk_rows)});
  }
}

std::vector<double> CommTrainee::importances() const {
  std::vector<double> importances(rows_.samples(), 1.0);
  if (loss_ == TrainingLoss::kSquared) return importances;
  double sum_ms = 0.0;
  for (std::uint32_t sample = 0; sample < rows_.samples(); ++sample) {
    const std::span<const float> costs = rows_.targets(sample);
    const double all = std::accumulate(costs.begin(), costs.end(), 0.0);
    importances[sample] = all / static_cast<double>(costs.size());
    sum_ms += importances[sample];
  }
  const double mean_ms = sum_ms / static_cast<double>(rows_.samples());
  if (!(mean_ms > 0.0)) return std::vector<double>(rows_.samples(), 1.0);
  for (double& value : importances) {
    value = std::sqrt(mean_ms / std::max(value, kLeastCostShare * mean_ms));
  }
  return importances;
}

void CommTrainee::measure_features(std::span<const double> importances) {
  FeatureStatistics statistics(rows_.inputs());
  const std::size_t inputs = static_cast<std::size_t>(rows_.inputs());
  std::vector<float> block;
  for (std::uint32_t sample = 0; sample < rows_.samples(); ++sample) {
    const std::size_t count = rows_.rows(sample);
    block.resize(count * inputs);
    rows_.inputs_of(sample, inputs, block.data());
    for (std::size_t r = 0; r < count; ++r) {
      statistics.add(std::span(block).subspan(r * inputs, inputs),
                     importances[sample] / static_cast<double>(count));
    }
  }
  features_ = statistics.normalization();
  for (const int feature : statistics.constant_features()) network_.disconnect_input(feature);
}

void CommTrainee::measure_costs(std::span<const std::uint32_t> training,
                                std::span<const double> importances) {
  FeatureStatistics statistics(1);
  for (const std::uint32_t sample : training) {
    const std::span<const float> costs = rows_.targets(sample);
    for (const float& cost_ms : costs) {
      statistics.add(std::span(&cost_ms, 1),
                     importances[sample] / static_cast<double>(costs.size()));
    }
  }
  scale_ = CostScale(statistics);
  cost_loss_ = CostLoss(loss_, scale_.mean_ms);
}

void CommTrainee::deal_out_chunks(std::span<const std::uint32_t> samples) {
  chunk_offsets_.assign(1, 0);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    rows += rows_.rows(samples[i]);
    if (rows >= kChunkRows || i + 1 == samples.size()) {
      chunk_offsets_.push_back(i + 1);
      rows = 0;
    }
  }
}

std::size_t CommTrainee::write_inputs(std::span<const std::uint32_t> samples, float* to) const {
  const std::size_t stride = network_.input_stride();
  const std::size_t inputs = static_cast<std::size_t>(rows_.inputs());
  std::size_t rows = 0;
  for (const std::uint32_t sample : samples) {
    rows_.inputs_of(sample, stride, to + rows * stride);
    rows += rows_.rows(sample);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = to + r * stride;
    normalize(features_, std::span(row, inputs), row);
  }
  return rows;
}

std::size_t CommTrainee::run_forward(std::span<const std::uint32_t> samples, Scratch& scratch) {
  const std::size_t rows = write_inputs(samples, scratch.inputs.data());
  network_.forward(kernels_, scratch.inputs.data(), 0, rows, scratch.tape);
  return rows;
}

double CommTrainee::differentiate_chunk(std::span<const std::uint32_t> samples, std::size_t batch,
                                        Scratch& scratch, float* gradient) {
  const std::size_t rows = run_forward(samples, scratch);
  const std::size_t outputs = static_cast<std::size_t>(rows_.outputs());
  double loss = 0.0;
  std::size_t row = 0;
  for (const std::uint32_t sample : samples) {
    const std::span<const float> targets = rows_.targets(sample);
    const double weight = 1.0 / (static_cast<double>(targets.size()) * static_cast<double>(batch));
    const double factor = 2.0 * weight * cost_loss_.gradient_scale(scale_.std_ms);
    double sum = 0.0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const float output = scratch.tape.output(row + i / outputs)[i % outputs];
      const float error = scale_.milliseconds(output) - targets[i];
      sum += cost_loss_(targets[i], error);
      scratch.tape.output_gradient(row + i / outputs)[i % outputs] =
          static_cast<float>(factor * cost_loss_.slope(targets[i], error)) * error;
    }
    loss += weight * sum;
    row += rows_.rows(sample);
  }
  network_.backward(kernels_, scratch.inputs.data(), 0, rows, scratch.tape, gradient, nullptr);
  return loss;
}

double CommTrainee::differentiate(std::span<const std::uint32_t> batch) {
  deal_out_chunks(batch);
  const std::size_t chunks = chunk_offsets_.size() - 1;
  std::vector<AlignedVector<float>>& gradients = networks_[0].gradients;
  networks_[0].begin_gradients(chunks);
  losses_.resize(std::max(losses_.size(), chunks));
  team_.run(chunks, [&](std::size_t chunk, std::size_t worker) {
    const std::size_t first = chunk_offsets_[chunk];
    losses_[chunk] = differentiate_chunk(batch.subspan(first, chunk_offsets_[chunk + 1] - first),
                                         batch.size(), scratch_[worker], gradients[chunk].data());
  });
  double loss = 0.0;
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) loss += losses_[chunk];
  return loss;
}

std::vector<float> CommTrainee::predict(std::span<const std::uint32_t> samples) {
  deal_out_chunks(samples);
  const std::size_t chunks = chunk_offsets_.size() - 1;
  std::vector<std::size_t> cost_offsets{0};
  for (const std::uint32_t sample : samples) {
    cost_offsets.push_back(cost_offsets.back() + rows_.targets(sample).size());
  }
  std::vector<float> cost_ms(cost_offsets.back());
  team_.run(chunks, [&](std::size_t chunk, std::size_t worker) {
    const std::size_t first = chunk_offsets_[chunk];
    const std::size_t count = chunk_offsets_[chunk + 1] - first;
    Scratch& scratch = scratch_[worker];
    const std::size_t rows = run_forward(samples.subspan(first, count), scratch);
    float* out = cost_ms.data() + cost_offsets[first];
    for (std::size_t r = 0; r < rows; ++r) {
      const float* output = scratch.tape.output(r);
      for (int o = 0; o < rows_.outputs(); ++o) *out++ = scale_.milliseconds(output[o]);
    }
  });
  return cost_ms;
}

TraineeData CommTrainee::data() const {
  const std::vector<std::uint32_t> all = count_up<std::uint32_t>(rows_.samples());
  TraineeData data{.inputs = {}, .row_ids = {}, .offsets = {0}, .costs_ms = {}};
  for (const std::uint32_t sample : all) {
    data.offsets.push_back(data.offsets.back() + rows_.rows(sample));
    const std::span<const float> costs = rows_.targets(sample);
    data.costs_ms.insert(data.costs_ms.end(), costs.begin(), costs.end());
  }
  data.inputs.resize(data.offsets.back() * network_.input_stride());
  write_inputs(all, data.inputs.data());
  return data;
}

CommNetwork CommTrainee::network() const {
  Mlp mlp = network_.to_mlp(scale_.std_ms, scale_.mean_ms);
  if (rows_.architecture() == CommArchitecture::kDense) {
    return DenseCommNetwork{features_, std::move(mlp)};
  }
  return SymmetricCommNetwork{features_, std::move(mlp)};
}

}  // namespace neuroshard::training
