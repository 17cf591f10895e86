#include "weights/training/policies/part_trainee.h"

#include <algorithm>
#include <cmath>

#include "core/policies/policy_features.h"
#include "core/policies/policy_parts.h"

namespace neuroshard::training {

PartTrainee::PartTrainee(const Mlp& start, bool relu_after_last)
    : mlp_(start, relu_after_last),
      adam_(mlp_.parameters().size()),
      gradient_(mlp_.parameters().size()),
      part_(mlp_.parameters().size()) {}

void PartTrainee::begin(std::size_t rows) {
  rows_ = rows;
  inputs_.assign(rows * mlp_.input_stride(), 0.0F);
  input_gradients_.assign(rows * mlp_.input_stride(), 0.0F);
  tape_ = std::make_unique<TrainableMlp::Tape>(mlp_, rows);
  std::ranges::fill(gradient_, 0.0F);
}

void PartTrainee::forward(std::size_t first_row, std::size_t rows) {
  if (rows > 0) mlp_.forward(best_matrix_kernels(), input(first_row), first_row, rows, *tape_);
}

void PartTrainee::backward(std::size_t first_row, std::size_t rows) {
  if (rows == 0) return;
  mlp_.backward(best_matrix_kernels(), input(first_row), first_row, rows, *tape_, part_.data(),
                input_gradient(first_row));
  for (std::size_t i = 0; i < gradient_.size(); ++i) gradient_[i] += part_[i];
}

void PartTrainee::step(double learning_rate) {
  adam_.step(std::span(&gradient_, 1), learning_rate, mlp_.parameters());
  mlp_.parameters_changed();
}

void PartTrainee::visit_state(const std::string& name, StateVisitor& visitor) {
  mlp_.visit_state(name, visitor);
  adam_.visit_state(name + ".adam", visitor);
}

void encode_tables(PartTrainee& tables, std::span<const float> features) {
  const std::size_t rows = features.size() / kPolicyFeatureStride;
  tables.begin(rows);
  std::ranges::copy(features, tables.input(0));
  tables.forward();
}

void add_embeddings(PartTrainee& tables, std::span<const std::uint32_t> rows, float* sum) {
  for (const std::uint32_t row : rows) {
    const float* embedding = tables.output(row);
    for (int i = 0; i < kPolicyEmbedding; ++i) sum[i] += embedding[i];
  }
}

void add_to_gradients(PartTrainee& tables, std::span<const std::uint32_t> rows,
                      const float* gradient) {
  for (const std::uint32_t row : rows) {
    float* of_row = tables.output_gradient(row);
    for (int i = 0; i < kPolicyEmbedding; ++i) of_row[i] += gradient[i];
  }
}

void clip_gradients(std::span<PartTrainee* const> parts) {
  constexpr double kMostNorm = 40.0;
  double squares = 0.0;
  for (PartTrainee* part : parts) {
    for (const float g : part->gradient()) squares += static_cast<double>(g) * g;
  }
  const double scale = kMostNorm / (std::sqrt(squares) + 1e-6);
  if (scale >= 1.0) return;
  for (PartTrainee* part : parts) {
    for (float& g : part->gradient()) g *= static_cast<float>(scale);
  }
}

BatchRows::BatchRows(std::span<const float> features)
    : all_(features),
      row_of_table_(features.size() / kPolicyFeatureStride, kZeroRow),
      rows_(kPolicyFeatureStride, 0.0F) {}

std::uint32_t BatchRows::row_of(std::uint32_t table) {
  std::uint32_t& row = row_of_table_[table];
  if (row == kZeroRow) {
    row = static_cast<std::uint32_t>(rows_.size() / kPolicyFeatureStride);
    const auto features = all_.subspan(std::size_t{table} * kPolicyFeatureStride,
                                       static_cast<std::size_t>(kPolicyFeatureStride));
    rows_.insert(rows_.end(), features.begin(), features.end());
  }
  return row;
}

LogSoftmax::LogSoftmax(std::span<const double> logits) : log_p(logits.begin(), logits.end()) {
  const double most = std::ranges::max(log_p);
  double sum = 0.0;
  for (const double logit : log_p) sum += std::exp(logit - most);
  for (double& logit : log_p) {
    logit -= most + std::log(sum);
    negative_entropy += std::exp(logit) * logit;
  }
}

double LogSoftmax::entropy_slope(std::size_t i) const {
  return std::exp(log_p[i]) * (log_p[i] - negative_entropy);
}

}  // namespace neuroshard::training
