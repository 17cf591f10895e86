#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weights/training/adam.h"
#include "weights/training/trainable_mlp.h"

namespace neuroshard::training {

/// A network of a policy in training, with its own Adam: steps leave networks alone that their loss
/// does not reach. All on one thread.
class PartTrainee {
 public:
  PartTrainee(const Mlp& start, bool relu_after_last);

  /// Makes `rows` rows of inputs, all 0, and forgets gradients.
  void begin(std::size_t rows);
  /// [inputs]
  [[nodiscard]] float* input(std::size_t row) { return &inputs_[row * mlp_.input_stride()]; }
  [[nodiscard]] float* input_gradient(std::size_t row) {
    return &input_gradients_[row * mlp_.input_stride()];
  }
  /// [outputs], after forward().
  [[nodiscard]] float* output(std::size_t row) { return tape_->output(row); }
  [[nodiscard]] float* output_gradient(std::size_t row) { return tape_->output_gradient(row); }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  void forward() { forward(0, rows_); }
  void forward(std::size_t first_row, std::size_t rows);
  /// Adds to gradient(), and writes the gradients of these rows' inputs.
  void backward() { backward(0, rows_); }
  void backward(std::size_t first_row, std::size_t rows);

  [[nodiscard]] AlignedVector<float>& gradient() { return gradient_; }
  [[nodiscard]] const TrainableMlp& network() const { return mlp_; }
  void step(double learning_rate);
  void visit_state(const std::string& name, StateVisitor& visitor);

 private:
  TrainableMlp mlp_;
  Adam adam_;
  std::size_t rows_ = 0;
  AlignedVector<float> inputs_;
  AlignedVector<float> input_gradients_;
  std::unique_ptr<TrainableMlp::Tape> tape_;
  AlignedVector<float> gradient_;
  AlignedVector<float> part_;
};

/// Row of features 0, in all batches of policies.
inline constexpr std::uint32_t kZeroRow = 0;

/// Puts rows of kPolicyFeatureStride floats through the network of tables.
void encode_tables(PartTrainee& tables, std::span<const float> features);
/// Adds the embeddings of `rows` to `sum`: [kPolicyEmbedding].
void add_embeddings(PartTrainee& tables, std::span<const std::uint32_t> rows, float* sum);
/// Adds `gradient` to those of the embeddings of `rows`.
void add_to_gradients(PartTrainee& tables, std::span<const std::uint32_t> rows,
                      const float* gradient);

/// Scales the gradients of all parts so that their norm is at most 40, as torch does.
void clip_gradients(std::span<PartTrainee* const> parts);

/// Rows of all tables of a policy's tasks that a batch needs, each once, after the row of zeros.
class BatchRows {
 public:
  /// Borrows `features`: [tables, kPolicyFeatureStride].
  explicit BatchRows(std::span<const float> features);
  [[nodiscard]] std::uint32_t row_of(std::uint32_t table);
  [[nodiscard]] const AlignedVector<float>& features() const { return rows_; }

 private:
  std::span<const float> all_;
  std::vector<std::uint32_t> row_of_table_;  ///< 0: none yet.
  AlignedVector<float> rows_;
};

/// log p of the softmax of `logits`, and the sum of p log p.
struct LogSoftmax {
  explicit LogSoftmax(std::span<const double> logits);
  std::vector<double> log_p;
  double negative_entropy = 0.0;

  /// The slope of negative_entropy by logit `i`.
  [[nodiscard]] double entropy_slope(std::size_t i) const;
};

}  // namespace neuroshard::training
